"""Where the kernel in user mode is reached, and what it exports."""

from pathlib import Path

# Of the guest, and of the machine around it at the other end of the cable.
ADDRESS, OUTER_ADDRESS = "10.89.77.2", "10.89.77.1"
FILES, ORDERS = (ADDRESS, 9001), (ADDRESS, 9002)
EXPORT = Path("/run/export")
# Version 4 alone, over TCP. The number of threads follows; 0 ends the server.
NFSD = ("rpc.nfsd", "--no-nfs-version", "3", "--no-udp")
N_THREADS = "8"
