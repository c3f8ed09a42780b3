#!/bin/bash
# python, pip, jupyter and pandoc for a user who has none but the system's: python and pip of the
# kernel Python 3, and what the session itself runs on. One file, by the name that it is called by.

name=${0##*/}
_code=$(readlink -f -- "${BASH_SOURCE[0]}")
commands=${_code%/*}

case $name in
    # An environment has a jupyter that knows fewer commands.
    jupyter | pandoc) _shipped=${commands%/*/*} ;;
    *) _shipped=/nowhere ;;
esac
IFS=: read -ra _folders <<<"$PATH"
for folder in "${_folders[@]}"; do
    case $folder in
        /usr/bin | /bin | /usr/sbin | /sbin | "$_shipped"/*) continue ;;
        # Not what a folder happens to hold that somebody is in.
        /*) ;;
        *) continue ;;
    esac
    if [ -f "$folder/$name" ] && [ -x "$folder/$name" ] && [ ! "$folder/$name" -ef "$_code" ]; then
        exec "$folder/$name" "$@"
    fi
done

case $name in
    jupyter) exec "$commands/../bin/jupyter" "$@" ;;
    pandoc) exec "$commands"/../lib/python3*/site-packages/pypandoc/files/pandoc "$@" ;;
esac
# shellcheck source=/dev/null
. "$commands/dsportal-activate" python3 || exit 1
if [ -t 2 ]; then
    case $name in
        python) echo "This is the Python of the kernel Python 3. For another, such as PyTorch: source dsportal-activate pytorch" ;;
        *) echo "This is for the kernel Python 3. For another, such as PyTorch: dsportal packages pip pytorch $*" ;;
    esac >&2
fi
exec "${VIRTUAL_ENV:-$commands/..}/bin/${name%3}" "$@"
