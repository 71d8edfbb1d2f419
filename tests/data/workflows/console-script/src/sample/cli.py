import sys


def main():
    print('sample', *sys.argv[1:])
    return 1
