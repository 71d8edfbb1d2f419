"""An issue tracker."""

from flask import Flask, g, jsonify, session

from tracker.issues import issues
from tracker.model import Tracker, Unknown


def create_app(**settings):
    """Return the application."""
    app = Flask(__name__)
    app.config.update(SECRET_KEY="dev", PER_PAGE=5, ADMINS=("root",))
    app.config.update(settings)
    app.extensions["tracker"] = Tracker()

    @app.before_request
    def load_user():
        g.user = session.get("user")

    @app.errorhandler(Unknown)
    def unknown(error):
        return jsonify(error=str(error)), 404

    @app.errorhandler(ValueError)
    def wrong(error):
        return jsonify(error=str(error)), 400

    app.register_blueprint(issues, url_prefix="/issues")

    @app.post("/login")
    def login():
        from flask import request

        name = request.form.get("name", "").strip()
        if not name:
            raise ValueError("a name is needed")
        session["user"] = name
        return jsonify(user=name)

    @app.post("/logout")
    def logout():
        session.pop("user", None)
        return "", 204

    return app
