"""Distribution names of well-known modules, maintained by hand and never looked up in an index.

Other names are never guessed: a distribution registered by an attacker runs its code at install.
"""

from collections.abc import Mapping

DISTRIBUTIONS: Mapping[str, str] = {
    "absl": "absl-py", "aiohttp": "aiohttp", "alembic": "alembic", "anyio": "anyio",
    "argon2": "argon2-cffi", "arrow": "arrow", "asgiref": "asgiref", "attr": "attrs",
    "attrs": "attrs", "bcrypt": "bcrypt", "boto3": "boto3", "botocore": "botocore",
    "bs4": "beautifulsoup4", "cachetools": "cachetools", "cairosvg": "CairoSVG",
    "certifi": "certifi", "cffi": "cffi", "chardet": "chardet",
    "charset_normalizer": "charset-normalizer", "click": "click", "cloudpickle": "cloudpickle",
    "colorama": "colorama", "Crypto": "pycryptodome", "Cryptodome": "pycryptodomex",
    "cryptography": "cryptography", "cv2": "opencv-python", "Cython": "Cython", "dask": "dask",
    "dateutil": "python-dateutil", "decouple": "python-decouple", "deprecated": "Deprecated",
    "discord": "discord.py", "django": "Django", "dns": "dnspython", "docker": "docker",
    "docutils": "docutils", "docx": "python-docx", "dotenv": "python-dotenv",
    "elasticsearch": "elasticsearch", "exceptiongroup": "exceptiongroup", "faker": "Faker",
    "fastapi": "fastapi", "filelock": "filelock", "fitz": "PyMuPDF", "flask": "Flask",
    "flask_cors": "Flask-Cors", "flask_login": "Flask-Login",
    "flask_sqlalchemy": "Flask-SQLAlchemy", "freezegun": "freezegun",
    "frontmatter": "python-frontmatter", "fsspec": "fsspec", "git": "GitPython",
    "github": "PyGithub", "gitlab": "python-gitlab", "google.protobuf": "protobuf", "gql": "gql",
    "graphql": "graphql-core", "greenlet": "greenlet", "grpc": "grpcio", "gunicorn": "gunicorn",
    "h11": "h11", "h5py": "h5py", "httpx": "httpx", "hypothesis": "hypothesis", "idna": "idna",
    "importlib_metadata": "importlib-metadata", "importlib_resources": "importlib-resources",
    "IPython": "ipython", "itsdangerous": "itsdangerous", "jinja2": "Jinja2",
    "jmespath": "jmespath", "joblib": "joblib", "jose": "python-jose", "jsonschema": "jsonschema",
    "jwt": "PyJWT", "kafka": "kafka-python", "ldap": "python-ldap", "Levenshtein": "Levenshtein",
    "loguru": "loguru", "lxml": "lxml", "magic": "python-magic", "markdown": "Markdown",
    "markdown_it": "markdown-it-py", "markupsafe": "MarkupSafe", "marshmallow": "marshmallow",
    "matplotlib": "matplotlib", "memcache": "python-memcached", "mock": "mock",
    "more_itertools": "more-itertools", "mpl_toolkits": "matplotlib", "msgpack": "msgpack",
    "multipart": "python-multipart", "mypy_extensions": "mypy-extensions",
    "mysql.connector": "mysql-connector-python", "MySQLdb": "mysqlclient", "nacl": "PyNaCl",
    "networkx": "networkx", "numpy": "numpy", "openpyxl": "openpyxl", "OpenSSL": "pyOpenSSL",
    "orjson": "orjson", "packaging": "packaging", "pandas": "pandas", "paramiko": "paramiko",
    "passlib": "passlib", "pendulum": "pendulum", "pexpect": "pexpect", "PIL": "Pillow",
    "pkg_resources": "setuptools", "platformdirs": "platformdirs", "pluggy": "pluggy",
    "pptx": "python-pptx", "psutil": "psutil", "psycopg": "psycopg", "psycopg2": "psycopg2-binary",
    "pydantic": "pydantic", "pydantic_settings": "pydantic-settings", "pygments": "Pygments",
    "pymongo": "pymongo", "pymysql": "PyMySQL", "pyparsing": "pyparsing", "pytest": "pytest",
    "pytest_asyncio": "pytest-asyncio", "pytest_mock": "pytest-mock", "pytz": "pytz",
    "pywintypes": "pywin32", "redis": "redis", "regex": "regex", "requests": "requests",
    "requests_mock": "requests-mock", "requests_toolbelt": "requests-toolbelt",
    "responses": "responses", "rest_framework": "djangorestframework", "rich": "rich",
    "ruamel": "ruamel.yaml", "scipy": "scipy", "selenium": "selenium", "sentry_sdk": "sentry-sdk",
    "serial": "pyserial", "setuptools": "setuptools", "simplejson": "simplejson", "six": "six",
    "skimage": "scikit-image", "sklearn": "scikit-learn", "slugify": "python-slugify",
    "socks": "PySocks", "sortedcontainers": "sortedcontainers", "soupsieve": "soupsieve",
    "sqlalchemy": "SQLAlchemy", "starlette": "starlette", "structlog": "structlog",
    "tabulate": "tabulate", "telegram": "python-telegram-bot", "tenacity": "tenacity",
    "tlz": "toolz", "toml": "toml", "tomli": "tomli", "tomlkit": "tomlkit", "toolz": "toolz",
    "tornado": "tornado", "tqdm": "tqdm", "trio": "trio", "typer": "typer",
    "typing_extensions": "typing_extensions", "tzlocal": "tzlocal", "ujson": "ujson",
    "urllib3": "urllib3", "uvicorn": "uvicorn", "watchdog": "watchdog", "webob": "WebOb",
    "websocket": "websocket-client", "websockets": "websockets", "werkzeug": "Werkzeug",
    "wrapt": "wrapt", "wx": "wxPython", "xlrd": "xlrd", "xlsxwriter": "XlsxWriter",
    "xmltodict": "xmltodict", "yaml": "PyYAML", "yarl": "yarl", "zmq": "pyzmq",
    "zstandard": "zstandard",
}  # fmt: skip
"""Module to distribution. If several provide a module, the most widely used one."""


def distribution_of(module: str) -> str | None:
    """Return the distribution that provides a well-known module, or None.

    Args:
        module: Its import name, such as `google.protobuf` or `yaml`.
    """
    parts = module.split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((DISTRIBUTIONS[name] for name in names if name in DISTRIBUTIONS), None)
