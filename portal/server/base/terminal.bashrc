# A terminal of a session reads this in place of ~/.bashrc, which may set PATH from scratch.
if [ -r ~/.bashrc ]; then
    . ~/.bashrc
fi
case ":$PATH:" in
    *":$PORTAL_COMMANDS:"*) ;;
    *) PATH="$PORTAL_COMMANDS:$PATH" ;;
esac
# What people look for in a terminal and a node may not have.
if declare -F command_not_found_handle >/dev/null; then
    eval "_dsportal_not_found() $(declare -f command_not_found_handle | tail -n +2)"
else
    _dsportal_not_found() { echo "bash: $1: command not found" >&2; return 127; }
fi
command_not_found_handle() {
    case $1 in
        conda | mamba) echo "There is no $1 here. To install a package: pip install NAME. For an environment of your own: dsportal environments new --help" ;;
        nvidia-smi) echo "This node has no nvidia-smi. The GPUs of this session: ${CUDA_VISIBLE_DEVICES:-none}. JupyterLab's status bar shows how busy they are." ;;
        *) _dsportal_not_found "$@"; return ;;
    esac >&2
    return 127
}
rm -f "$PORTAL_SHELL_STARTS"
unset PORTAL_SHELL_STARTS
