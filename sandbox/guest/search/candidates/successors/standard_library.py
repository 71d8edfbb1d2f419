"""The standard library and the language, from What's New in Python 3.0 to 3.14."""

from __future__ import annotations

from sandbox.guest.search.candidates.successors.notation import Renames, Rewrite, table

_ABCS = (
    "Awaitable Coroutine AsyncIterable AsyncIterator AsyncGenerator Hashable Iterable "
    "Iterator Generator Reversible Sized Container Callable Collection Set MutableSet "
    "Mapping MutableMapping MappingView KeysView ItemsView ValuesView Sequence "
    "MutableSequence ByteString"
)

RENAMES = Renames(
    modules=table("""
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
tkFileDialog -> tkinter.filedialog
Tkinter -> tkinter
ttk -> tkinter.ttk
"""),
    names={
        **table("""
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
"""),
        **{f"collections.{name}": (f"collections.abc.{name}",) for name in _ABCS.split()},
    },
    attributes=table("""
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
"""),
    keywords=table("""
universal_newlines -> text
encoding ->
loop ->
"""),
    rewrites=(
        Rewrite("utcnow", "{value}.now(timezone.utc)", "from datetime import timezone"),
        Rewrite(
            "utcfromtimestamp",
            "{value}.fromtimestamp({args}, timezone.utc)",
            "from datetime import timezone",
        ),
        Rewrite("has_key", "{args} in {value}"),
        Rewrite("getchildren", "list({value})"),
        Rewrite("next", "next({value})"),
        Rewrite("isAlive", "{value}.is_alive()"),
        Rewrite("setDaemon", "setattr({value}, 'daemon', {args})"),
        Rewrite("getName", "{value}.name"),
        Rewrite("isDaemon", "{value}.daemon"),
        Rewrite("decode", "{value}"),
        Rewrite("encode", "{value}"),
        Rewrite("count", "len({value})"),
        Rewrite("length", "len({value})"),
        Rewrite("size", "len({value})"),
        Rewrite(
            "removeprefix", "({value}[len({args}):] if {value}.startswith({args}) else {value})"
        ),
        Rewrite(
            "removesuffix", "({value}[:-len({args})] if {value}.endswith({args}) else {value})"
        ),
        Rewrite("bit_count", "bin({value}).count('1')"),
        Rewrite("is_relative_to", "({args} in {value}.parents or {value} == {args})"),
        Rewrite("readlink", "os.readlink({value})", "import os"),
        Rewrite("randbytes", "bytes({value}.getrandbits(8) for _ in range({args}))"),
        Rewrite("get_event_loop", "asyncio.new_event_loop()", "import asyncio"),
    ),
)
"""Renamed, moved and removed names."""

BUILTINS = table("""
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
"""Names of built-ins in Python 2 and other languages."""
