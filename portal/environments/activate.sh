#!/bin/bash
# Activates the Python of a kernel in a shell or a job script: source dsportal-activate KERNEL
# For bash and zsh. The command deactivate undoes it.

if ! (return 0) 2>/dev/null; then
    echo "dsportal-activate changes a shell, so the shell has to read it: source dsportal-activate $*" >&2
    exit 1
fi
if typeset -f deactivate >/dev/null; then
    deactivate
fi
# The command beside this file: a job script may name it by its path, with nothing on PATH.
_dsportal_code=${BASH_SOURCE[0]:-$0}
if [ -x "${_dsportal_code%/*}/dsportal" ]; then
    _dsportal_code=${_dsportal_code%/*}/dsportal
else
    _dsportal_code=dsportal
fi
if ! _dsportal_code=$("$_dsportal_code" activate -- "$@"); then
    unset _dsportal_code
    return 1
fi
eval "$_dsportal_code"
unset _dsportal_code
