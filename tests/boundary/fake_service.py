#!/usr/bin/env python3
"""Stands in for the api process: hands its end of the boundary's socket to a test, and lives until the test hangs up.

The spawner starts this program as ``sandboxd-api``, descriptor 3 being the socket. The test listens on the Unix socket that
the environment names.
"""

import array
import os
import socket

rendezvous = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
rendezvous.connect(os.environ["BOUNDARY_RENDEZVOUS"])
rendezvous.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [3]))])
os.close(3)
rendezvous.recv(1)
