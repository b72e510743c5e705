#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
"""
The C ABI from a language that inlines nothing: two connections of loopback0 play ping-pong, driven by ctypes.

    pingpong.py LIBPOLLUX_SO [ROUNDS]     plays
    pingpong.py --layout                  prints C to compile with -c: it checks the structs below against the headers

Only structs that a caller fills in or reads are mirrored; what is opaque stays a pointer, and an op is used through
the exported twins of the inline functions.
"""
import ctypes
import sys
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_bool, c_char_p, c_int, c_int32, c_uint, c_uint8, c_uint16,
                    c_uint32, c_uint64, c_void_p)

# ---- structs: a field list each, in the order of the header


class plx_op_pool_conf(Structure):
    _fields_ = [('name', c_char_p), ('nb_ops', c_uint), ('cache_size', c_uint), ('priv_size', c_uint),
                ('socket_id', c_int)]


class plx_control_conf(Structure):
    _fields_ = [('cpuset', c_void_p), ('lcores', POINTER(c_uint)), ('nb_lcores', c_uint), ('nb_reqs', c_uint)]


class plx_dispatcher_conf(Structure):
    _fields_ = [('name', c_char_p), ('mode', c_int), ('owner', c_uint), ('homes', POINTER(c_uint)),
                ('nb_homes', c_uint), ('nb_inbox', c_uint), ('pool', plx_op_pool_conf)]


class plx_conn_group_conf(Structure):
    _fields_ = [('name', c_char_p), ('dispatcher', c_void_p), ('cq', c_void_p), ('control', c_void_p),
                ('events', c_void_p)]


class plx_poller_conf(Structure):
    _fields_ = [('name', c_char_p), ('budget', c_uint16), ('yield', c_bool)]


class plx_qp_cap(Structure):
    _fields_ = [('send_depth', c_uint32), ('recv_depth', c_uint32), ('send_sge', c_uint32), ('recv_sge', c_uint32),
                ('inline_len', c_uint32)]


class plx_qp_path(Structure):
    _fields_ = [('port', c_uint32), ('gid_index', c_int32), ('rights', c_uint32), ('rd_atomic', c_uint32),
                ('timeout', c_uint8), ('retry_cnt', c_uint8), ('rnr_retry', c_uint8), ('min_rnr_timer', c_uint8),
                ('traffic_class', c_uint8), ('service_level', c_uint8), ('hop_limit', c_uint8), ('reserved', c_uint8)]


class plx_qp_addr(Structure):
    _fields_ = [('qp_num', c_uint32), ('psn', c_uint32), ('lid', c_uint32), ('gid_index', c_uint32),
                ('gid_type', c_uint32), ('mtu', c_uint32), ('port', c_uint32), ('rd_atomic', c_uint32),
                ('gid', c_uint8 * 16), ('guid', c_uint64)]


class plx_conn_conf(Structure):
    _fields_ = [('group', c_void_p), ('pd', c_void_p), ('cap', plx_qp_cap), ('path', plx_qp_path), ('home', c_uint),
                ('drain_ms', c_uint), ('max_queued', c_uint), ('closed_cb', c_void_p), ('lost_cb', c_void_p),
                ('failed_cb', c_void_p), ('drained_cb', c_void_p), ('arg', c_void_p), ('recv_pool', c_void_p)]


class plx_view(Structure):
    _fields_ = [('addr', c_void_p), ('len', c_uint64), ('lkey', c_uint32), ('rkey', c_uint32), ('rights', c_uint32)]


class plx_result(Structure):
    _fields_ = [('status', c_int), ('kind', c_int), ('byte_len', c_uint32), ('imm', c_uint32), ('inv_rkey', c_uint32),
                ('wc_flags', c_uint32), ('qp_num', c_uint32), ('vendor_err', c_uint32), ('raw_status', c_uint32),
                ('post_errno', c_int), ('conn', c_void_p)]


STRUCTS = [s for s in list(globals().values()) if isinstance(s, type) and issubclass(s, Structure) and s is not Structure]
CLOSED = 4  # enum plx_conn_state
ACCESS_LOCAL_WRITE = 1
SOCKET_ID_ANY = -1
LEN = 64


def layout():
    """C to compile with -c; it fails to where a mirror is wrong."""
    print('#include <pollux/plx_conn.h>\n#include <pollux/plx_memory.h>\n#include <pollux/plx_poller.h>')
    for struct in STRUCTS:
        name = struct.__name__
        print(f'_Static_assert(sizeof(struct {name}) == {ctypes.sizeof(struct)}, "size of {name}");')
        for field, *_ in struct._fields_:
            at = getattr(struct, field)
            print(f'_Static_assert(offsetof(struct {name}, {field}) == {at.offset} && '
                  f'sizeof(((struct {name} *)0)->{field}) == {at.size}, "{name}.{field}");')
    print('_Static_assert(PLX_CONN_CLOSED == %d && PLX_ACCESS_LOCAL_WRITE == %d && SOCKET_ID_ANY == %d, "constants");' %
          (CLOSED, ACCESS_LOCAL_WRITE, SOCKET_ID_ANY))


# ---- functions: what comes back, what goes in; p is any pointer

p = c_void_p
on_done_t = CFUNCTYPE(None, p, p)
FUNCTIONS = {
    'rte_eal_init': (c_int, c_int, p), 'rte_eal_cleanup': (c_int,), 'rte_get_main_lcore': (c_uint,),
    'plx_version': (c_char_p,), 'plx_status_name': (c_char_p, c_uint), 'plx_drivers_register': (c_int,),
    'plx_device_open': (p, c_char_p), 'plx_device_close': (c_int, p),
    'plx_pd_create': (p, p), 'plx_pd_destroy': (c_int, p),
    'plx_region_alloc': (p, p, c_uint64, c_uint32), 'plx_region_destroy': (c_int, p),
    'plx_region_view': (c_int, p, c_uint64, c_uint64, POINTER(plx_view)),
    'plx_cq_create': (p, p, c_uint32), 'plx_cq_destroy': (c_int, p),
    'plx_control_create': (p, POINTER(plx_control_conf)), 'plx_control_destroy': (c_int, p),
    'plx_dispatcher_create': (p, POINTER(plx_dispatcher_conf)), 'plx_dispatcher_destroy': (c_int, p),
    'plx_conn_group_create': (p, POINTER(plx_conn_group_conf)), 'plx_conn_group_destroy': (c_int, p),
    'plx_poller_create': (p, POINTER(plx_poller_conf)), 'plx_poller_destroy': (c_int, p),
    'plx_poller_add_cq': (c_int, p, p, p), 'plx_poller_add_hook': (c_int, p, p, p), 'plx_poller_once': (c_uint, p),
    'plx_qp_path_default': (None, POINTER(plx_qp_path)),
    'plx_conn_create': (p, POINTER(plx_conn_conf)), 'plx_conn_destroy': (c_int, p),
    'plx_conn_local_attr': (c_int, p, POINTER(plx_qp_addr)), 'plx_conn_bring_up': (c_int, p, POINTER(plx_qp_addr)),
    'plx_conn_close': (c_int, p), 'plx_op_result': (None, p, POINTER(plx_result)),
    # the twins of inline functions
    'plx_conn_state': (c_int, p), 'plx_conn_submit': (c_int, p, p),
    'plx_op_get': (p, p), 'plx_op_put': (c_int, p), 'plx_op_is_done': (c_bool, p),
    'plx_prep_send': (None, p, POINTER(plx_view), p, p), 'plx_prep_recv': (None, p, POINTER(plx_view), p, p),
}


def load(path):
    """libpollux, through which DPDK's own functions are found too."""
    lib = ctypes.CDLL(path)
    for name, (result, *arguments) in FUNCTIONS.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def ok(err, what):
    if err is None or err < 0:
        sys.exit(f'pingpong.py: {what}: {err}')
    return err


class Side:
    """One end: a connection, two ops, two buffers."""

    def __init__(self, lib, conf, pool, memory, off):
        self.conn = ok(lib.plx_conn_create(byref(conf)), 'connection')
        self.send, self.recv = (ok(lib.plx_op_get(pool), 'op') for _ in range(2))
        self.out, self.into, self.addr = plx_view(), plx_view(), plx_qp_addr()
        ok(lib.plx_region_view(memory, off, LEN, byref(self.out)), 'view')
        ok(lib.plx_region_view(memory, off + LEN, LEN, byref(self.into)), 'view')
        ok(lib.plx_conn_local_attr(self.conn, byref(self.addr)), 'address')


def message(lib, poller, sender, receiver, text):
    """One message, verified; the callback runs inside plx_poller_once()."""
    done = []

    def on_done(op, _):
        result = plx_result()
        lib.plx_op_result(op, byref(result))
        done.append((op, result.status, result.byte_len, result.conn))

    callback = ctypes.cast(on_done_t(on_done), p)
    ctypes.memmove(sender.out.addr, text, LEN)
    lib.plx_prep_recv(receiver.recv, byref(receiver.into), callback, None)
    lib.plx_prep_send(sender.send, byref(sender.out), None, None)
    ok(lib.plx_conn_submit(receiver.conn, receiver.recv), 'receive')
    ok(lib.plx_conn_submit(sender.conn, sender.send), 'send')
    while not done or not lib.plx_op_is_done(sender.send):
        lib.plx_poller_once(poller)
    if done != [(receiver.recv, 0, LEN, receiver.conn)]:
        sys.exit(f'pingpong.py: {text}: {done}')
    if ctypes.string_at(receiver.into.addr, LEN) != text:
        sys.exit(f'pingpong.py: {text} arrived as {ctypes.string_at(receiver.into.addr, LEN)}')


def play(lib, rounds):
    lcore = c_uint(lib.rte_get_main_lcore())
    dev = ok(lib.plx_device_open(b'loopback0'), 'device')
    pd = ok(lib.plx_pd_create(dev), 'PD')
    memory = ok(lib.plx_region_alloc(pd, 4 * LEN, ACCESS_LOCAL_WRITE), 'memory')
    cq = ok(lib.plx_cq_create(dev, 512), 'CQ')
    control = ok(lib.plx_control_create(byref(plx_control_conf(lcores=ctypes.pointer(lcore), nb_lcores=1))), 'control')
    d = ok(lib.plx_dispatcher_create(byref(plx_dispatcher_conf(
        name=b'ctypes', owner=lcore, pool=plx_op_pool_conf(nb_ops=4, socket_id=SOCKET_ID_ANY)))), 'dispatcher')
    pool = ctypes.cast(d, POINTER(p))[0]  # its first field
    group = ok(lib.plx_conn_group_create(byref(plx_conn_group_conf(b'ctypes', d, cq, control))), 'group')
    poller = ok(lib.plx_poller_create(byref(plx_poller_conf(name=b'ctypes'))), 'poller')
    ok(lib.plx_poller_add_cq(poller, cq, d), 'poller')
    ok(lib.plx_poller_add_hook(poller, ctypes.cast(lib.plx_dispatcher_hook, p), d), 'hook')
    ok(lib.plx_poller_add_hook(poller, ctypes.cast(lib.plx_conn_group_hook, p), group), 'hook')
    conf = plx_conn_conf(group=group, pd=pd, home=lcore)
    lib.plx_qp_path_default(byref(conf.path))
    a, b = (Side(lib, conf, pool, memory, off) for off in (0, 2 * LEN))
    ok(lib.plx_conn_bring_up(a.conn, byref(b.addr)), 'bring-up')
    ok(lib.plx_conn_bring_up(b.conn, byref(a.addr)), 'bring-up')

    for i in range(rounds):
        message(lib, poller, a, b, b'ping %d' % i + bytes(LEN - len(b'ping %d' % i)))
        message(lib, poller, b, a, b'pong %d' % i + bytes(LEN - len(b'pong %d' % i)))

    for side in a, b:
        ok(lib.plx_op_put(side.send), 'op')
        ok(lib.plx_op_put(side.recv), 'op')
        ok(lib.plx_conn_close(side.conn), 'close')
    for side in a, b:
        while lib.plx_conn_state(side.conn) != CLOSED:
            lib.plx_poller_once(poller)
        ok(lib.plx_conn_destroy(side.conn), 'connection')
    for destroy, thing in ((lib.plx_poller_destroy, poller), (lib.plx_conn_group_destroy, group),
                           (lib.plx_dispatcher_destroy, d), (lib.plx_control_destroy, control),
                           (lib.plx_cq_destroy, cq), (lib.plx_region_destroy, memory), (lib.plx_pd_destroy, pd),
                           (lib.plx_device_close, dev)):
        ok(destroy(thing), destroy.__name__)


def main():
    if sys.argv[1:] == ['--layout']:
        return layout()
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith('-') or not ''.join(sys.argv[2:] or '1').isdigit():
        print('usage: pingpong.py LIBPOLLUX_SO [ROUNDS] | --layout (C to compile with -c)', file=sys.stderr)
        return 2
    lib = load(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    arguments = (c_char_p * 8)(b'pingpong.py', b'--no-huge', b'--no-shconf', b'--no-pci', b'-m', b'64', b'-l', b'0')
    ok(lib.rte_eal_init(8, arguments), 'EAL')
    ok(lib.plx_drivers_register(), 'drivers')
    play(lib, rounds)
    ok(lib.rte_eal_cleanup(), 'EAL')
    print(f'{rounds} pings and {rounds} pongs verified, library {lib.plx_version().decode()}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
