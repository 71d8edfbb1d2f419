"""Programs of ours for a set-up sandbox, in Python: links to packages, and a list of scripts."""

# A folder of links for each `node_modules`, which a workspace copies: tools write beside packages,
# and the environment is read-only. Links between the project's own folders stay relative. Managers
# link no program of a workspace's package whose file is missing, and the tree has no files of the
# project. So these programs get scripts that start the file, which a build may still make.
LINK = """
import json, os, shlex, sys
tree, links = map(os.path.realpath, sys.argv[1:])
os.makedirs(links, exist_ok=True)
def own(source):
    real = os.path.realpath(source) + os.sep
    inside = real.startswith(tree + os.sep) and os.sep + "node_modules" + os.sep not in real
    return os.path.islink(source) and inside
def link(source, target):
    real = os.path.realpath(source)
    if own(source):
        os.symlink(os.readlink(source), target)
    else:
        os.symlink(real, target)
def programs(package):
    try:
        with open(os.path.join(package, "package.json"), encoding="utf-8") as file:
            about = json.load(file)
        found = about.get("bin")
        if isinstance(found, str):
            found = {str(about.get("name")).rpartition("/")[2]: found}
        return {name: file for name, file in found.items() if fits(name, file)}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
def fits(name, file):
    # A file system takes no other name of a script, and a shell no other path.
    if not isinstance(file, str) or not name.strip(".") or "\\0" in name + file:
        return False
    return len(name.encode()) < MOST_BYTES and len(file.encode()) < MOST_BYTES
def add_programs(source, target):
    real = os.path.realpath(source)
    for name, file in programs(source).items() if own(source) else ():
        place = os.path.join(target, ".bin", name)
        path = os.path.normpath(os.path.join(real, file))
        if "/" in name or not path.startswith(real + os.sep) or os.path.lexists(place):
            continue
        os.makedirs(os.path.dirname(place), exist_ok=True)
        top = os.path.join(tree, os.path.relpath(target, links))
        file = shlex.quote("/" + os.path.relpath(path, os.path.join(top, ".bin")))
        with open(place, "x") as script:
            script.write(START % file)
        os.chmod(place, 0o755)
MOST_BYTES = 250
START = '#!/bin/sh\\n' 'file="${0%%/*}"%s\\n' '[ ! -x "$file" ] || exec "$file" "$@"\\n'
START += 'exec node "$file" "$@"\\n'
for folder, names, _ in os.walk(tree):
    if "node_modules" not in names:
        continue
    names.remove("node_modules")
    source = os.path.join(folder, "node_modules")
    target = os.path.join(links, os.path.relpath(folder, tree), "node_modules")
    os.makedirs(target)
    for name in os.listdir(source):
        here, there = os.path.join(source, name), os.path.join(target, name)
        if name == ".bin" or (name.startswith("@") and not os.path.islink(here)):
            os.mkdir(there)
            for inner in os.listdir(here):
                link(os.path.join(here, inner), os.path.join(there, inner))
        elif name in (".pnpm", ".yarn-state.yml") or not name.startswith("."):
            # The programs of pnpm are scripts with paths below `.pnpm`. `yarn run` finds packages
            # by its own list of them.
            link(here, there)
    for name in os.listdir(source):
        here = os.path.join(source, name)
        scoped = name.startswith("@") and not os.path.islink(here)
        for inner in os.listdir(here) if scoped else [""]:
            add_programs(os.path.join(here, inner).rstrip(os.sep), target)
"""

# The packages with install scripts: `name@version`, the scripts' names, the folder.
SCAN = """
import json, os, sys
tree, most = sys.argv[1], int(sys.argv[2])
for folder, names, files in os.walk(tree):
    names.sort()
    parent = os.path.basename(os.path.dirname(folder))
    outer = os.path.basename(os.path.dirname(os.path.dirname(folder)))
    package = parent == "node_modules" or (parent.startswith("@") and outer == "node_modules")
    if not package or "package.json" not in files:
        continue
    try:
        with open(os.path.join(folder, "package.json"), encoding="utf-8-sig") as file:
            about = json.load(file)
        own = about.get("scripts") or {}
        scripts = [one for one in ("preinstall", "install", "postinstall") if one in own]
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        continue
    if "binding.gyp" in files and not {"preinstall", "install"} & set(scripts):
        scripts.insert(0, "node-gyp")
    if scripts and most > 0:
        most -= 1
        name = "%.214s@%.50s" % (about.get("name"), about.get("version"))
        print(json.dumps([name, scripts, folder]))
"""
