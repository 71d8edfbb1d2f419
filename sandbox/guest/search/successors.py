"""Names that were renamed, moved or dropped, and what the release notes of their projects name in their place.

General knowledge, as data: each block says whose release notes it follows. A successor that is not there in this
environment is not proposed.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Tuple


def _table(text: str) -> Dict[str, Tuple[str, ...]]:
    """Lines `old -> new`; several old ones parted by blanks, several new ones by `|`."""
    found: Dict[str, Tuple[str, ...]] = {}
    for line in text.strip().splitlines():
        old, _, new = line.partition("->")
        for name in old.split():
            found[name] = (*found.get(name, ()), *(part.strip() for part in new.split("|")))
    return found


MODULES = _table("""
imp -> importlib
distutils -> setuptools._distutils
distutils.core -> setuptools
distutils.command -> setuptools.command
distutils.version -> packaging.version
distutils.spawn -> shutil
distutils.util -> setuptools._distutils.util
asynchat -> asyncio
asyncore -> asyncio
pipes -> shlex
telnetlib -> telnetlib3
cgi -> html | urllib.parse
crypt -> passlib.hash
xml.etree.cElementTree -> xml.etree.ElementTree
collections.abc -> typing
typing.io -> typing
typing.re -> re
ConfigParser -> configparser
StringIO cStringIO -> io
cPickle -> pickle
Queue -> queue
urllib2 -> urllib.request
urlparse -> urllib.parse
HTMLParser -> html.parser
htmlentitydefs -> html.entities
__builtin__ -> builtins
httplib -> http.client
Cookie -> http.cookies
cookielib -> http.cookiejar
SocketServer -> socketserver
copy_reg -> copyreg
thread -> _thread
repr -> reprlib
mock -> unittest.mock
unittest2 -> unittest
simplejson -> json
pathlib2 -> pathlib
contextlib2 -> contextlib
tomli toml -> tomllib
tomllib -> tomli
backports.zoneinfo -> zoneinfo
zoneinfo -> backports.zoneinfo
backports.functools_lru_cache -> functools
importlib_metadata -> importlib.metadata
importlib.metadata -> importlib_metadata
importlib_resources -> importlib.resources
typing_extensions -> typing
ordereddict -> collections
numpy.core -> numpy._core
numpy.core.numeric -> numpy
numpy.core.multiarray -> numpy._core.multiarray
numpy.lib.function_base -> numpy
numpy.testing.utils numpy.testing.decorators -> numpy.testing
pandas.util.testing -> pandas.testing | pandas._testing
pandas.io.json -> pandas
pandas.tools.plotting -> pandas.plotting
pandas.core.common -> pandas.api.types
pydantic.generics pydantic.main pydantic.error_wrappers -> pydantic
pydantic.utils pydantic.typing pydantic.errors pydantic.class_validators pydantic.fields -> pydantic.v1.utils | pydantic
pydantic.tools -> pydantic.v1.tools | pydantic
pydantic.env_settings -> pydantic_settings
sqlalchemy.ext.declarative -> sqlalchemy.orm
sqlalchemy.engine.reflection -> sqlalchemy
sqlalchemy.sql.expression -> sqlalchemy
flask.ext -> flask
flask.json -> flask.json.provider
werkzeug.contrib.cache -> cachelib
werkzeug.contrib.fixers -> werkzeug.middleware.proxy_fix
werkzeug.wsgi -> werkzeug.middleware.shared_data | werkzeug.middleware.dispatcher
werkzeug.urls -> urllib.parse
jinja2.utils jinja2 -> markupsafe
django.core.urlresolvers -> django.urls
django.conf.urls -> django.urls
django.utils.six -> six
django.utils.lru_cache -> functools
django.contrib.staticfiles.templatetags.staticfiles -> django.templatetags.static
django.contrib.postgres.fields.jsonb -> django.db.models
requests.packages.urllib3 -> urllib3
urllib3.packages.six -> six
sklearn.externals.joblib -> joblib
sklearn.externals.six -> six
sklearn.cross_validation sklearn.grid_search sklearn.learning_curve -> sklearn.model_selection
sklearn.utils.testing -> sklearn.utils._testing
sklearn.metrics.scorer -> sklearn.metrics
sklearn.linear_model.base -> sklearn.linear_model
scipy.misc -> scipy.special | imageio
scipy.signal.hanning -> scipy.signal.windows
sphinx.util.compat -> docutils.parsers.rst
pkg_resources -> importlib.metadata
pip.req pip.download -> pip._internal.req
pip._vendor.six -> six
nose.tools -> unittest
attr -> attrs
tkFileDialog -> tkinter.filedialog
Tkinter -> tkinter
ttk -> tkinter.ttk
""")
"""Standard library (What's New in Python 3.0 to 3.14) and well-known projects (their change logs)."""

_ABCS = (
    "Awaitable Coroutine AsyncIterable AsyncIterator AsyncGenerator Hashable Iterable Iterator Generator Reversible "
    "Sized Container Callable Collection Set MutableSet Mapping MutableMapping MappingView KeysView ItemsView "
    "ValuesView Sequence MutableSequence ByteString"
)

NAMES = _table("""
fractions.gcd -> math.gcd
time.clock -> time.perf_counter
inspect.getargspec -> inspect.getfullargspec
inspect.getmoduleinfo -> inspect.getmodulename
cgi.escape -> html.escape
cgi.parse_qs cgi.parse_qsl -> urllib.parse.parse_qs
base64.encodestring -> base64.encodebytes
base64.decodestring -> base64.decodebytes
html.parser.HTMLParseError -> ValueError
asyncio.async -> asyncio.ensure_future
asyncio.coroutine -> types.coroutine
asyncio.get_event_loop -> asyncio.new_event_loop
asyncio.Task.all_tasks -> asyncio.all_tasks
asyncio.Task.current_task -> asyncio.current_task
asyncio.iscoroutinefunction -> inspect.iscoroutinefunction
os.getcwdu -> os.getcwd
os.errno -> errno
os.popen2 -> os.popen
string.letters -> string.ascii_letters
string.lowercase -> string.ascii_lowercase
string.uppercase -> string.ascii_uppercase
string.maketrans -> str.maketrans
string.join -> str.join
itertools.izip -> zip
itertools.imap -> map
itertools.ifilter -> filter
itertools.izip_longest -> itertools.zip_longest
itertools.ifilterfalse -> itertools.filterfalse
sys.maxint -> sys.maxsize
sys.setcheckinterval -> sys.setswitchinterval
sys.last_exc -> sys.last_value
imp.reload -> importlib.reload
imp.find_module -> importlib.util.find_spec
imp.new_module -> types.ModuleType
imp.get_magic -> importlib.util.MAGIC_NUMBER
imp.cache_from_source -> importlib.util.cache_from_source
importlib.find_loader pkgutil.find_loader -> importlib.util.find_spec
pipes.quote -> shlex.quote
distutils.version.LooseVersion distutils.version.StrictVersion -> packaging.version.Version
distutils.spawn.find_executable -> shutil.which
distutils.dir_util.copy_tree -> shutil.copytree
distutils.dir_util.remove_tree -> shutil.rmtree
distutils.dir_util.mkpath -> os.makedirs
distutils.file_util.copy_file -> shutil.copy
distutils.core.setup -> setuptools.setup
distutils.core.Extension -> setuptools.Extension
distutils.core.Command -> setuptools.Command
distutils.sysconfig.get_config_var -> sysconfig.get_config_var
locale.format -> locale.format_string
locale.resetlocale -> locale.setlocale
unittest.makeSuite -> unittest.defaultTestLoader.loadTestsFromTestCase
unittest.findTestCases -> unittest.defaultTestLoader.loadTestsFromModule
unittest._TextTestResult -> unittest.TextTestResult
ssl.PROTOCOL_SSLv3 ssl.PROTOCOL_TLSv1 -> ssl.PROTOCOL_TLS_CLIENT
sqlite3.OptimizedUnicode -> str
configparser.SafeConfigParser -> configparser.ConfigParser
logging.warn -> logging.warning
logging._levelNames -> logging._levelToName
threading.currentThread -> threading.current_thread
threading.activeCount -> threading.active_count
threading._sleep -> time.sleep
thread.get_ident -> threading.get_ident
types.StringTypes types.StringType types.UnicodeType -> str
types.IntType -> int
types.ListType -> list
types.DictType -> dict
types.NoneType -> type(None)
types.ClassType -> type
ast.Num ast.Str ast.Bytes ast.NameConstant ast.Ellipsis -> ast.Constant
ast.Index ast.ExtSlice -> ast.Slice
typing.io.TextIO -> typing.TextIO
typing.GenericMeta -> type
typing._GenericAlias -> types.GenericAlias
typing.ByteString -> collections.abc.Buffer
re._pattern_type -> re.Pattern
re.TEMPLATE re.template -> re.compile
sre_constants.error -> re.error
email.Utils -> email.utils
email.MIMEText -> email.mime.text
gettext.lgettext -> gettext.gettext
binascii.b2a_hqx -> binascii.b2a_base64
platform.dist platform.linux_distribution -> platform.freedesktop_os_release
platform.popen -> os.popen
plistlib.readPlist -> plistlib.load
plistlib.writePlist -> plistlib.dump
plistlib.readPlistFromString plistlib.readPlistFromBytes -> plistlib.loads
xml.etree.ElementTree.Element.getchildren -> list
array.array.tostring -> array.array.tobytes
urllib.quote -> urllib.parse.quote
urllib.unquote -> urllib.parse.unquote
urllib.quote_plus -> urllib.parse.quote_plus
urllib.urlencode -> urllib.parse.urlencode
urllib.urlopen -> urllib.request.urlopen
urllib.urlretrieve -> urllib.request.urlretrieve
contextlib.nested -> contextlib.ExitStack
tempfile.template -> tempfile.gettempprefix
enum.EnumMeta -> enum.EnumType
importlib.resources.open_text importlib.resources.read_text -> importlib.resources.files
importlib.abc.Traversable -> importlib.resources.abc.Traversable
importlib.abc.ResourceReader -> importlib.resources.abc.ResourceReader
pkgutil.ImpImporter -> pkgutil.FileImporter | zipimport.zipimporter
zipimport.ZipImportError -> ImportError
webbrowser.MacOSX -> webbrowser.MacOSXOSAScript
datetime.UTC -> datetime.timezone.utc
collections.UserDict.DictMixin -> collections.abc.MutableMapping
numpy.float numpy.float_ -> float | numpy.float64
numpy.int numpy.long -> int
numpy.bool -> bool
numpy.bool8 -> numpy.bool_
numpy.object -> object
numpy.object0 -> numpy.object_
numpy.str numpy.unicode -> str
numpy.complex -> complex
numpy.complex_ numpy.cfloat -> numpy.complex128
numpy.unicode_ numpy.str0 -> numpy.str_
numpy.string_ numpy.bytes0 -> numpy.bytes_
numpy.int0 -> numpy.intp
numpy.uint0 -> numpy.uintp
numpy.void0 -> numpy.void
numpy.singlecomplex -> numpy.complex64
numpy.longfloat -> numpy.longdouble
numpy.longcomplex numpy.clongfloat -> numpy.clongdouble
numpy.NaN numpy.NAN -> numpy.nan
numpy.Inf numpy.Infinity numpy.PINF numpy.infty -> numpy.inf
numpy.NINF -> -numpy.inf
numpy.NZERO -> -0.0
numpy.PZERO -> 0.0
numpy.product -> numpy.prod
numpy.cumproduct -> numpy.cumprod
numpy.sometrue -> numpy.any
numpy.alltrue -> numpy.all
numpy.in1d -> numpy.isin
numpy.row_stack -> numpy.vstack
numpy.trapz -> numpy.trapezoid
numpy.trapezoid -> numpy.trapz
numpy.msort -> numpy.sort
numpy.round_ -> numpy.round
numpy.asfarray -> numpy.asarray
numpy.alen -> len
numpy.rank -> numpy.ndim
numpy.find_common_type -> numpy.result_type | numpy.promote_types
numpy.mat -> numpy.asmatrix
numpy.issubclass_ -> issubclass
numpy.sctype2char -> numpy.dtype
numpy.safe_eval -> ast.literal_eval
numpy.byte_bounds -> numpy.lib.array_utils.byte_bounds
numpy.random.random_integers -> numpy.random.randint
numpy.VisibleDeprecationWarning -> numpy.exceptions.VisibleDeprecationWarning
numpy.AxisError -> numpy.exceptions.AxisError
numpy.ComplexWarning -> numpy.exceptions.ComplexWarning
numpy.RankWarning -> numpy.exceptions.RankWarning
numpy.DTypeTypeError -> numpy.exceptions.DTypePromotionError
numpy.warnings -> warnings
numpy.math -> math
numpy.cast -> numpy.asarray
numpy.deprecate -> warnings.deprecated
numpy.disp -> print
numpy.testing.dec -> pytest.mark
pandas.io.json.json_normalize -> pandas.json_normalize
pandas.Int64Index pandas.UInt64Index pandas.Float64Index pandas.NumericIndex -> pandas.Index
pandas.TimeGrouper -> pandas.Grouper
pandas.datetime -> datetime.datetime
pandas.np -> numpy
pandas.Panel -> pandas.DataFrame
pandas.rolling_mean -> pandas.Series.rolling
pandas.tslib.Timestamp pandas.Timestamp.Timestamp -> pandas.Timestamp
pandas.scatter_matrix -> pandas.plotting.scatter_matrix
pandas.core.indexes.base.InvalidIndexError -> pandas.errors.InvalidIndexError
pandas.core.common.SettingWithCopyWarning -> pandas.errors.SettingWithCopyWarning
pandas.util.testing.assert_frame_equal -> pandas.testing.assert_frame_equal
pandas.util.testing.assert_series_equal -> pandas.testing.assert_series_equal
pandas.errors.AbstractMethodError -> NotImplementedError
pandas.value_counts -> pandas.Series.value_counts
pydantic.validator -> pydantic.field_validator
pydantic.root_validator -> pydantic.model_validator
pydantic.BaseSettings -> pydantic_settings.BaseSettings
pydantic.parse_obj_as pydantic.tools.parse_obj_as -> pydantic.TypeAdapter
pydantic.generics.GenericModel -> pydantic.BaseModel
pydantic.error_wrappers.ValidationError -> pydantic.ValidationError
pydantic.PyObject -> pydantic.ImportString
pydantic.fields.ModelField -> pydantic.fields.FieldInfo
pydantic.Extra -> pydantic.v1.Extra
pydantic.BaseConfig -> pydantic.ConfigDict
pydantic.Required -> pydantic.v1.Required
sqlalchemy.ext.declarative.declarative_base -> sqlalchemy.orm.declarative_base
sqlalchemy.ext.declarative.declared_attr -> sqlalchemy.orm.declared_attr
sqlalchemy.ext.declarative.as_declarative -> sqlalchemy.orm.as_declarative
sqlalchemy.orm.relation -> sqlalchemy.orm.relationship
sqlalchemy.orm.eagerload -> sqlalchemy.orm.joinedload
sqlalchemy.orm.mapper -> sqlalchemy.orm.Mapper
sqlalchemy.engine.RowProxy sqlalchemy.engine.result.RowProxy -> sqlalchemy.engine.Row
sqlalchemy.engine.reflection.Inspector -> sqlalchemy.inspect
sqlalchemy.databases -> sqlalchemy.dialects
sqlalchemy.Binary -> sqlalchemy.LargeBinary
flask.Markup -> markupsafe.Markup
flask.escape -> markupsafe.escape
flask.safe_join -> werkzeug.utils.safe_join
flask.json.JSONEncoder -> flask.json.provider.DefaultJSONProvider | json.JSONEncoder
flask.json.JSONDecoder -> json.JSONDecoder
flask.json_available -> True
flask._app_ctx_stack flask._request_ctx_stack -> flask.globals.app_ctx | flask.globals.request_ctx | flask.g
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
django.utils.translation.ugettext -> django.utils.translation.gettext
django.utils.translation.ugettext_lazy -> django.utils.translation.gettext_lazy
django.utils.translation.ungettext -> django.utils.translation.ngettext
django.utils.translation.ungettext_lazy -> django.utils.translation.ngettext_lazy
django.utils.translation.ugettext_noop -> django.utils.translation.gettext_noop
django.utils.encoding.force_text django.utils.encoding.force_unicode -> django.utils.encoding.force_str
django.utils.encoding.smart_text django.utils.encoding.smart_unicode -> django.utils.encoding.smart_str
django.utils.encoding.python_2_unicode_compatible -> six.python_2_unicode_compatible
django.conf.urls.url -> django.urls.re_path
django.core.urlresolvers.reverse -> django.urls.reverse
django.utils.http.urlquote -> urllib.parse.quote
django.utils.http.urlquote_plus -> urllib.parse.quote_plus
django.utils.http.urlunquote -> urllib.parse.unquote
django.utils.http.is_safe_url -> django.utils.http.url_has_allowed_host_and_scheme
django.utils.timezone.utc -> datetime.timezone.utc
django.utils.timezone.FixedOffset -> datetime.timezone
django.utils.text.unescape_entities -> html.unescape
django.contrib.postgres.fields.JSONField -> django.db.models.JSONField
django.db.models.NullBooleanField -> django.db.models.BooleanField
django.db.models.fields.FieldDoesNotExist -> django.core.exceptions.FieldDoesNotExist
django.shortcuts.render_to_response -> django.shortcuts.render
django.contrib.staticfiles.templatetags.staticfiles.static -> django.templatetags.static.static
django.utils.decorators.available_attrs -> functools.WRAPPER_ASSIGNMENTS
django.utils.functional.curry -> functools.partial
django.utils.lru_cache.lru_cache -> functools.lru_cache
django.contrib.admin.util -> django.contrib.admin.utils
django.db.models.loading.get_model -> django.apps.apps.get_model
django.dispatch.dispatcher.Signal -> django.dispatch.Signal
pytest.yield_fixture -> pytest.fixture
pytest.collect.File -> pytest.File
pytest.config -> pytest.Config
requests.packages.urllib3 -> urllib3
attr.s -> attr.define
click.BaseCommand -> click.Command
click.MultiCommand -> click.Group
click.OptionParser -> click.parser.OptionParser
pkg_resources.parse_version -> packaging.version.parse
pkg_resources.get_distribution -> importlib.metadata.distribution
pkg_resources.iter_entry_points -> importlib.metadata.entry_points
pkg_resources.DistributionNotFound -> importlib.metadata.PackageNotFoundError
packaging.version.LegacyVersion -> packaging.version.Version
scipy.misc.factorial -> scipy.special.factorial
scipy.misc.comb -> scipy.special.comb
scipy.misc.logsumexp -> scipy.special.logsumexp
scipy.integrate.cumtrapz -> scipy.integrate.cumulative_trapezoid
scipy.integrate.trapz -> scipy.integrate.trapezoid
scipy.integrate.simps -> scipy.integrate.simpson
scipy.signal.hann -> scipy.signal.windows.hann
scipy.signal.hamming -> scipy.signal.windows.hamming
scipy.signal.gaussian -> scipy.signal.windows.gaussian
scipy.stats.binom_test -> scipy.stats.binomtest
scipy.stats.median_absolute_deviation -> scipy.stats.median_abs_deviation
scipy.linalg.pinv2 -> scipy.linalg.pinv
scipy.interp -> numpy.interp
scipy.special.sph_harm -> scipy.special.sph_harm_y
sklearn.preprocessing.Imputer -> sklearn.impute.SimpleImputer
sklearn.metrics.plot_confusion_matrix -> sklearn.metrics.ConfusionMatrixDisplay.from_estimator
sklearn.utils.metaestimators.if_delegate_has_method -> sklearn.utils.metaestimators.available_if
sklearn.datasets.samples_generator.make_blobs -> sklearn.datasets.make_blobs
networkx.from_numpy_matrix -> networkx.from_numpy_array
networkx.to_numpy_matrix -> networkx.to_numpy_array
networkx.from_scipy_sparse_matrix -> networkx.from_scipy_sparse_array
networkx.to_scipy_sparse_matrix -> networkx.to_scipy_sparse_array
networkx.connected_component_subgraphs -> networkx.connected_components
networkx.cytoscape_graph -> networkx.readwrite.json_graph.cytoscape_graph
matplotlib.cm.get_cmap -> matplotlib.pyplot.get_cmap
matplotlib.cm.register_cmap -> matplotlib.colormaps.register
matplotlib.cbook.iterable -> numpy.iterable
matplotlib.cbook.is_string_like -> str
PIL.Image.ANTIALIAS -> PIL.Image.LANCZOS
PIL.Image.LINEAR -> PIL.Image.BILINEAR
PIL.Image.CUBIC -> PIL.Image.BICUBIC
PIL.Image.fromstring -> PIL.Image.frombytes
PIL.PILLOW_VERSION -> PIL.__version__
redis.StrictRedis -> redis.Redis
yaml.UnsafeLoader -> yaml.Loader
dateutil.zoneinfo.gettz -> dateutil.tz.gettz
markdown.util.etree -> xml.etree.ElementTree
sphinx.util.compat.Directive -> docutils.parsers.rst.Directive
sphinx.util.status_iterator -> sphinx.util.display.status_iterator
sphinx.util.jsdump -> json
nose.tools.assert_equal nose.tools.eq_ -> unittest.TestCase().assertEqual
hypothesis.searchstrategy.SearchStrategy -> hypothesis.strategies.SearchStrategy
aiohttp.Timeout -> async_timeout.timeout
aiohttp.ClientResponseError -> aiohttp.ClientError
starlette.middleware.wsgi.WSGIMiddleware -> a2wsgi.WSGIMiddleware
marshmallow.fields.LocalDateTime -> marshmallow.fields.DateTime
jsonschema.RefResolver -> referencing.Registry
cryptography.hazmat.backends.openssl.backend -> cryptography.hazmat.backends.default_backend
""")
"""Dotted names; standard library and the projects named in them."""
NAMES.update({f"collections.{name}": (f"collections.abc.{name}",) for name in _ABCS.split()})

ATTRIBUTES = _table("""
iteritems viewitems -> items
itervalues viewvalues -> values
iterkeys viewkeys -> keys
has_key -> __contains__
isAlive -> is_alive
getName -> name
setName -> name
setDaemon isDaemon -> daemon
notifyAll -> notify_all
isSet -> is_set
currentThread -> current_thread
assertEquals failUnlessEqual -> assertEqual
assertNotEquals -> assertNotEqual
assertItemsEqual -> assertCountEqual
assertRegexpMatches -> assertRegex
assertNotRegexpMatches -> assertNotRegex
assertRaisesRegexp -> assertRaisesRegex
assertAlmostEquals -> assertAlmostEqual
assert_ failUnless -> assertTrue
failIf -> assertFalse
assertDictContainsSubset -> assertLessEqual
tostring -> tobytes
fromstring -> frombytes
getchildren -> iter
getiterator -> iter
func_name -> __name__
func_code -> __code__
func_defaults -> __defaults__
func_globals -> __globals__
func_dict -> __dict__
im_func -> __func__
im_self -> __self__
im_class -> __self__
next -> __next__
readfp -> read_file
warn -> warning
message -> args
maxint -> maxsize
encodestring -> encodebytes
decodestring -> decodebytes
getargspec -> getfullargspec
load_module -> exec_module
find_module -> find_spec
append -> _append | concat
ix -> loc | iloc
as_matrix -> to_numpy
get_values -> to_numpy
get_value -> at
applymap -> map
is_monotonic -> is_monotonic_increasing
weekofyear week -> isocalendar
hide_index -> hide
pad -> ffill
backfill -> bfill
product -> prod
itemset -> put
dict -> model_dump
json -> model_dump_json
parse_obj from_orm validate -> model_validate
parse_raw -> model_validate_json
parse_file -> model_validate_json
copy -> model_copy
construct -> model_construct
schema -> model_json_schema
schema_json -> model_json_schema
update_forward_refs -> model_rebuild
__fields__ -> model_fields
__fields_set__ -> model_fields_set
__config__ -> model_config
__validators__ -> __pydantic_decorators__
model_dump -> dict
model_dump_json -> json
model_validate -> parse_obj
model_validate_json -> parse_raw
model_copy -> copy
model_fields -> __fields__
table_names -> get_table_names
_asdict -> _mapping
from_self -> subquery
get_feature_names -> get_feature_names_out
base_estimator -> estimator
base_estimator_ -> estimator_
n_features_ -> n_features_in_
node -> nodes
edge -> edges | adj
nodes_iter -> nodes
edges_iter -> edges
degree_iter -> degree
neighbors_iter -> neighbors
get_axis_bgcolor -> get_facecolor
set_axis_bgcolor -> set_facecolor
w_xaxis -> xaxis
w_yaxis -> yaxis
set_tight_layout -> set_layout_engine
getsize -> getlength | getbbox
textsize -> textlength | textbbox
text_as_unicode -> text
add_stylesheet -> add_css_file
add_javascript -> add_js_file
method_whitelist -> allowed_methods
DEFAULT_METHOD_WHITELIST -> DEFAULT_ALLOWED_METHODS
is_xhr -> is_json
before_first_request -> before_request
json_encoder -> json_provider_class
assertQuerysetEqual -> assertQuerySetEqual
is_ajax -> accepts
get_query_set -> get_queryset
rel -> remote_field
funcargnames -> fixturenames
getfuncargvalue getfixturefunction -> getfixturevalue
get_marker -> get_closest_marker
fspath -> path
makeitem -> from_parent
""")
"""Methods and attributes, whatever object they were asked of; only those that the object has are proposed."""

BUILTINS = _table("""
unicode basestring -> str
long -> int
xrange -> range
raw_input -> input
unichr -> chr
true -> True
false -> False
null none nil undefined -> None
StandardError -> Exception
WindowsError -> OSError
file -> open
buffer -> memoryview
izip -> zip
imap -> map
ifilter -> filter
""")
"""Names that other languages and Python 2 know."""


def _keywords(text: str) -> Dict[str, Tuple[str, ...]]:
    return {old: tuple(n for n in new if n) for old, new in _table(text).items()}


KEYWORDS = _keywords("""
line_terminator -> lineterminator
error_bad_lines warn_bad_lines -> on_bad_lines
squeeze mangle_dupe_cols convert_unicode ->
attachment_filename -> download_name
cache_timeout -> max_age
add_etags -> etag
method_whitelist -> allowed_methods
sparse -> sparse_output
base_estimator -> estimator
affinity -> metric
regex -> pattern
min_items -> min_length
max_items -> max_length
allow_population_by_field_name -> populate_by_name
orm_mode -> from_attributes
convert -> converter
cmp -> eq
missing -> load_default
default -> dump_default
load_from dump_to attribute -> data_key
proxies -> proxy
app -> transport
universal_newlines -> text
encoding ->
loop ->
random_state -> rng | seed
seed -> rng
tol -> rtol
rtol -> tol
strict ->
timeout -> read_timeout
autocommit ->
bind ->
message -> match
normed -> density
axisbg -> facecolor
b -> visible
basex basey -> base
nonposx nonposy -> nonpositive
ncols -> ncol
size -> height
verify -> ssl
force_all_finite -> ensure_all_finite
n_iter -> max_iter
presort ->
copy ->
""")
"""Keywords of any callable; a new name is proposed only where the callable takes it (or tells nothing)."""


class Rewrite(NamedTuple):
    """A call or expression that is written otherwise now; `{value}` and `{args}` stand for its parts."""

    attribute: str
    text: str
    needs: str = ""
    """An import without which it does not work."""


REWRITES: List[Rewrite] = [
    Rewrite("utcnow", "{value}.now(timezone.utc)", "from datetime import timezone"),
    Rewrite("utcfromtimestamp", "{value}.fromtimestamp({args}, timezone.utc)", "from datetime import timezone"),
    Rewrite("has_key", "{args} in {value}"),
    Rewrite("getchildren", "list({value})"),
    Rewrite("append", "pd.concat([{value}, {args}])", "import pandas as pd"),
    Rewrite("append", "pandas.concat([{value}, {args}])", "import pandas"),
    Rewrite("ptp", "np.ptp({value})", "import numpy as np"),
    Rewrite("next", "next({value})"),
    Rewrite("isAlive", "{value}.is_alive()"),
    Rewrite("setDaemon", "setattr({value}, 'daemon', {args})"),
    Rewrite("getName", "{value}.name"),
    Rewrite("isDaemon", "{value}.daemon"),
    Rewrite("weekofyear", "{value}.isocalendar().week"),
    Rewrite("week", "{value}.isocalendar().week"),
    Rewrite("iterrows", "{value}.itertuples()"),
    Rewrite("schema_json", "json.dumps({value}.model_json_schema({args}))", "import json"),
    Rewrite("parse_obj_as", "TypeAdapter({first}).validate_python({rest})", "from pydantic import TypeAdapter"),
    Rewrite("is_ajax", "{value}.headers.get('x-requested-with') == 'XMLHttpRequest'"),
    Rewrite("get_distribution", "importlib.metadata.distribution({args})", "import importlib.metadata"),
    Rewrite("asscalar", "{args}.item()"),
    Rewrite("itemset", "{value}[...] = {args}"),
    Rewrite("decode", "{value}"),
    Rewrite("encode", "{value}"),
    Rewrite("count", "len({value})"),
    Rewrite("length", "len({value})"),
    Rewrite("size", "len({value})"),
    Rewrite("__version__", "importlib.metadata.version({module!r})", "import importlib.metadata"),
    Rewrite("removeprefix", "({value}[len({args}):] if {value}.startswith({args}) else {value})"),
    Rewrite("removesuffix", "({value}[:-len({args})] if {value}.endswith({args}) else {value})"),
    Rewrite("bit_count", "bin({value}).count('1')"),
    Rewrite("is_relative_to", "({args} in {value}.parents or {value} == {args})"),
    Rewrite("readlink", "os.readlink({value})", "import os"),
    Rewrite("randbytes", "bytes({value}.getrandbits(8) for _ in range({args}))"),
    Rewrite("get_event_loop", "asyncio.new_event_loop()", "import asyncio"),
]
"""By the name of the attribute that is missing or deprecated."""

NO_MATCH: Tuple[str, ...] = ()
"""For names without a successor."""


def successors_of(dotted: str) -> List[str]:
    """What a dotted name may be called now; a part of it may have moved with its module."""
    found = list(NAMES.get(dotted, NO_MATCH))
    module, _, name = dotted.rpartition(".")
    while module and not found:
        found += [f"{new}.{name}" for new in MODULES.get(module, NO_MATCH)]
        module, _, last = module.rpartition(".")
        name = f"{last}.{name}"
    return list(dict.fromkeys(n for n in found if n != dotted))
