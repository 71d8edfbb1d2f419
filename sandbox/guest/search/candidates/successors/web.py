"""Flask, Werkzeug, Jinja, urllib3, aiohttp and other HTTP libraries, from their change logs."""

from __future__ import annotations

from sandbox.guest.search.candidates.successors.notation import Renames, table

RENAMES = Renames(
    modules=table("""
flask.ext -> flask
flask.json -> flask.json.provider
werkzeug.contrib.cache -> cachelib
werkzeug.contrib.fixers -> werkzeug.middleware.proxy_fix
werkzeug.wsgi -> werkzeug.middleware.shared_data | werkzeug.middleware.dispatcher
werkzeug.urls -> urllib.parse
jinja2.utils jinja2 -> markupsafe
requests.packages.urllib3 -> urllib3
urllib3.packages.six -> six
"""),
    names=table("""
flask.Markup -> markupsafe.Markup
flask.escape -> markupsafe.escape
flask.safe_join -> werkzeug.utils.safe_join
flask.json.JSONEncoder -> flask.json.provider.DefaultJSONProvider | json.JSONEncoder
flask.json.JSONDecoder -> json.JSONDecoder
flask.json_available -> True
flask._app_ctx_stack -> flask.globals.app_ctx | flask.globals.request_ctx | flask.g
flask._request_ctx_stack -> flask.globals.app_ctx | flask.globals.request_ctx | flask.g
flask.globals._app_ctx_stack -> flask.globals.app_ctx
flask.globals._request_ctx_stack -> flask.globals.request_ctx
flask.helpers.safe_join -> werkzeug.utils.safe_join
flask.helpers.locked_cached_property -> werkzeug.utils.cached_property
flask.__version__ -> importlib.metadata.version("flask")
werkzeug.__version__ -> importlib.metadata.version("werkzeug")
werkzeug.secure_filename -> werkzeug.utils.secure_filename
werkzeug.cached_property -> werkzeug.utils.cached_property
werkzeug.generate_password_hash -> werkzeug.security.generate_password_hash
werkzeug.check_password_hash -> werkzeug.security.check_password_hash
werkzeug.redirect -> werkzeug.utils.redirect
werkzeug.Request werkzeug.wrappers.BaseRequest -> werkzeug.wrappers.Request
werkzeug.Response werkzeug.wrappers.BaseResponse -> werkzeug.wrappers.Response
werkzeug.FileStorage -> werkzeug.datastructures.FileStorage
werkzeug.Local -> werkzeug.local.Local
werkzeug.LocalProxy -> werkzeug.local.LocalProxy
werkzeug.run_simple -> werkzeug.serving.run_simple
werkzeug.security.safe_str_cmp -> hmac.compare_digest
werkzeug.security.safe_join -> werkzeug.utils.safe_join
werkzeug.security.pbkdf2_hex -> hashlib.pbkdf2_hmac
werkzeug.utils.escape -> markupsafe.escape
werkzeug.utils.html -> markupsafe.Markup
werkzeug.urls.url_quote -> urllib.parse.quote
werkzeug.urls.url_quote_plus -> urllib.parse.quote_plus
werkzeug.urls.url_unquote -> urllib.parse.unquote
werkzeug.urls.url_unquote_plus -> urllib.parse.unquote_plus
werkzeug.urls.url_encode -> urllib.parse.urlencode
werkzeug.urls.url_decode -> urllib.parse.parse_qs
werkzeug.urls.url_parse -> urllib.parse.urlsplit | urllib.parse.urlparse
werkzeug.urls.url_unparse -> urllib.parse.urlunsplit
werkzeug.urls.url_join -> urllib.parse.urljoin
werkzeug.urls.url_fix -> urllib.parse.quote
werkzeug.contrib.fixers.ProxyFix -> werkzeug.middleware.proxy_fix.ProxyFix
werkzeug.wsgi.SharedDataMiddleware -> werkzeug.middleware.shared_data.SharedDataMiddleware
werkzeug.wsgi.DispatcherMiddleware -> werkzeug.middleware.dispatcher.DispatcherMiddleware
werkzeug.http.parse_authorization_header -> werkzeug.datastructures.Authorization.from_header
werkzeug.wsgi.pop_path_info -> werkzeug.wsgi.get_path_info
werkzeug.local.get_ident -> threading.get_ident
werkzeug.useragents.UserAgent -> werkzeug.user_agent.UserAgent
jinja2.Markup jinja2.utils.Markup -> markupsafe.Markup
jinja2.escape jinja2.utils.escape -> markupsafe.escape
jinja2.contextfilter jinja2.contextfunction -> jinja2.pass_context
jinja2.environmentfilter jinja2.environmentfunction -> jinja2.pass_environment
jinja2.evalcontextfilter jinja2.evalcontextfunction -> jinja2.pass_eval_context
jinja2.utils.contextfunction jinja2.utils.contextfilter -> jinja2.pass_context
jinja2.filters.contextfilter -> jinja2.pass_context
jinja2.filters.environmentfilter -> jinja2.pass_environment
jinja2.utils.soft_unicode jinja2.filters.soft_unicode markupsafe.soft_unicode -> markupsafe.soft_str
jinja2.ext.with_ jinja2.ext.autoescape -> jinja2.ext.do
requests.packages.urllib3 -> urllib3
click.BaseCommand -> click.Command
click.MultiCommand -> click.Group
click.OptionParser -> click.parser.OptionParser
aiohttp.Timeout -> async_timeout.timeout
aiohttp.ClientResponseError -> aiohttp.ClientError
starlette.middleware.wsgi.WSGIMiddleware -> a2wsgi.WSGIMiddleware
"""),
    attributes=table("""
method_whitelist -> allowed_methods
DEFAULT_METHOD_WHITELIST -> DEFAULT_ALLOWED_METHODS
is_xhr -> is_json
before_first_request -> before_request
json_encoder -> json_provider_class
"""),
    keywords=table("""
attachment_filename -> download_name
cache_timeout -> max_age
add_etags -> etag
method_whitelist -> allowed_methods
proxies -> proxy
app -> transport
strict ->
timeout -> read_timeout
verify -> ssl
"""),
)
"""Renamed, moved and removed names."""
