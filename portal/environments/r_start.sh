# What starts R as a kernel. R reads two files in the folder of the notebook, which may be somebody
# else's, unless it is told where they are.
export R_PROFILE_USER="${R_PROFILE_USER:-$HOME/.Rprofile}"
export R_ENVIRON_USER="${R_ENVIRON_USER:-$HOME/.Renviron}"
exec "$@"
