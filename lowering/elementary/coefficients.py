"""Coefficients of the elementary functions, lowest power first. Written by tools/minimax.py."""

from __future__ import annotations

import functools

# polynomial: hexadecimal coefficients
TEXT = {
    # error 2^-28.22
    "EXP_F32": (
        "0x1.fffffc0000000p-2 0x1.55548c0000000p-3 0x1.5558580000000p-5 0x1.123df60000000p-7 "
        "0x1.6ac8fa0000000p-10 "
    ),
    # error 2^-26.08
    "EXPM1_F32": (
        "0x1.fffffe0000000p-2 0x1.5554aa0000000p-3 0x1.55579a0000000p-5 0x1.122c420000000p-7 "
        "0x1.6abf0e0000000p-10 "
    ),
    # error 2^-31.35
    "EXP2_F32": (
        "0x1.62e4300000000p-1 0x1.ebfbe00000000p-3 0x1.c6b0580000000p-5 0x1.3b2a540000000p-7 "
        "0x1.5dc5de0000000p-10 0x1.44177e0000000p-13 0x1.b4ac060000000p-17 "
    ),
    # error 2^-27.35
    "LOG_F32": (
        "0x1.5555540000000p-2 -0x1.0002280000000p-2 0x1.99a0340000000p-3 -0x1.5472340000000p-3 "
        "0x1.22d68a0000000p-3 -0x1.0d81fa0000000p-3 0x1.0570b40000000p-3 -0x1.38f9700000000p-4 "
    ),
    # error 2^-30.12
    "LOG2_F32": (
        "-0x1.7154760000000p-1 0x1.ec70860000000p-2 -0x1.7154d60000000p-2 0x1.277fca0000000p-2 "
        "-0x1.ec61bc0000000p-3 0x1.a3ed120000000p-3 -0x1.6fe1740000000p-3 0x1.61e3e00000000p-3 "
        "-0x1.52c33c0000000p-3 0x1.758a1e0000000p-4 "
    ),
    # error 2^-29.33
    "LOG10_F32": (
        "-0x1.bcb7b20000000p-3 0x1.287a600000000p-3 -0x1.bcb69a0000000p-4 0x1.63d48c0000000p-4 "
        "-0x1.28b6a00000000p-4 0x1.f979bc0000000p-5 -0x1.b23d200000000p-5 0x1.a3274e0000000p-5 "
        "-0x1.c693a20000000p-5 0x1.26c1520000000p-5 "
    ),
    # error 2^-63.57
    "EXP_F64": (
        "0x1.0000000000000p-1 0x1.555555555555dp-3 0x1.555555555556cp-5 0x1.111111110e543p-7 "
        "0x1.6c16c16c0a459p-10 0x1.a01a01b5f7fbep-13 0x1.a01a01e87573bp-16 0x1.71ddeaa33d9d1p-19 "
        "0x1.27e44b377de1fp-22 0x1.af745a2246463p-26 0x1.204f107fa1523p-29 "
    ),
    # error 2^-61.62
    "EXPM1_F64": (
        "0x1.0000000000000p-1 0x1.5555555555559p-3 0x1.5555555555558p-5 0x1.111111110f71cp-7 "
        "0x1.6c16c16c1762ep-10 0x1.a01a01af99091p-13 0x1.a01a0198e686fp-16 0x1.71ddf933c9cdap-19 "
        "0x1.27e50534baf70p-22 0x1.af5d24b6c15bap-26 0x1.1f252de18d88ep-29 "
    ),
    # error 2^-59.57
    "EXP2_F64": (
        "0x1.62e42fefa39efp-1 0x1.ebfbdff82c58ep-3 0x1.c6b08d704a197p-5 0x1.3b2ab6fba51d2p-7 "
        "0x1.5d87fe788b06cp-10 0x1.430912f73e736p-13 0x1.ffcbfc92984c7p-17 0x1.62c0279f79ef3p-20 "
        "0x1.b525c2e5b0af8p-24 0x1.e4b9b390cc3ccp-28 0x1.e3eac3d7c6e44p-32 0x1.e394eb1cb3773p-36 "
        "0x1.55d3759cb9158p-37 "
    ),
    # error 2^-59.28
    "LOG_F64": (
        "0x1.555555555556bp-2 -0x1.ffffffffffe7dp-3 0x1.9999999994d1cp-3 -0x1.555555556af07p-3 "
        "0x1.2492492762689p-3 -0x1.fffffff3d6763p-4 0x1.c71c702bd36a2p-4 -0x1.99999a945dacep-4 "
        "0x1.745d591575887p-4 -0x1.5555787261382p-4 0x1.3b0d74df3944ap-4 -0x1.2489288c67e27p-4 "
        "0x1.116a0dba45007p-4 -0x1.00d140171ee73p-4 0x1.dc9a81e66a54cp-5 -0x1.b44bd5d85d448p-5 "
        "0x1.bb89a1be54484p-5 -0x1.0116736052dedp-4 0x1.d32f664b697a9p-5 -0x1.8e6dc97ea5600p-6 "
    ),
    # error 2^-61.51
    "LOG2_F64": (
        "-0x1.71547652b82fep-1 0x1.ec709dc3a0406p-2 -0x1.71547652b83a0p-2 0x1.2776c50ef8e88p-2 "
        "-0x1.ec709dc38ce71p-3 0x1.a61762a892579p-3 -0x1.7154765b32946p-3 0x1.484b139f11dbbp-3 "
        "-0x1.2776c3029e9f2p-3 0x1.0c9a8bd44e666p-3 -0x1.ec71356b755b7p-4 0x1.c68e7aad1b6f0p-4 "
        "-0x1.a609dbccf055ep-4 0x1.89f39d8c000b7p-4 -0x1.721068d2b6465p-4 0x1.5c6def7ebaa81p-4 "
        "-0x1.42934bbbf2b99p-4 0x1.2a7a212054ce2p-4 -0x1.397743cb084c7p-4 0x1.663a29fe812c1p-4 "
        "-0x1.2f83cb0c3920ap-4 0x1.dbe4f2ee8ce09p-6 "
    ),
    # error 2^-61.48
    "LOG10_F64": (
        "-0x1.bcb7b1526e50ep-3 0x1.287a7636f4362p-3 -0x1.bcb7b1526e64ep-4 0x1.63c6277524782p-4 "
        "-0x1.287a7636e28eep-4 0x1.fc3fa6159b0b7p-5 -0x1.bcb7b1609ba1bp-5 0x1.8b4df2d995448p-5 "
        "-0x1.63c6245670196p-5 0x1.436e53ccec26cp-5 -0x1.287adf0e82ce2p-5 0x1.11ac5f9db1a16p-5 "
        "-0x1.fc2ebff037021p-6 0x1.da440a79ed838p-6 -0x1.bd891ef831d9cp-6 0x1.a48185fd5457dp-6 "
        "-0x1.85e2a31456346p-6 0x1.62c2cb74a3335p-6 -0x1.6dd11a93e746ep-6 0x1.b49fd5a3662e3p-6 "
        "-0x1.8f874f5a0a97fp-6 0x1.50b6c6bde627cp-7 "
    ),
    # error 2^-27.68
    "SIN_F32": ("-0x1.5555440000000p-3 0x1.1106a80000000p-7 -0x1.990c8a0000000p-13 "),
    # error 2^-32.6
    "COS_F32": ("0x1.5555480000000p-5 -0x1.6c0af40000000p-10 0x1.9991180000000p-16 "),
    # error 2^-57.53
    "SIN_F64": (
        "-0x1.5555555555545p-3 0x1.111111110f260p-7 -0x1.a01a019b4b9efp-13 0x1.71de34ca59db1p-19 "
        "-0x1.ae5ddd8755771p-26 0x1.5d6b2bfca97b0p-33 "
    ),
    # error 2^-63.48
    "COS_F64": (
        "0x1.5555555555548p-5 -0x1.6c16c16c1498dp-10 0x1.a01a019beb361p-16 -0x1.27e4f77ab996fp-22 "
        "0x1.1ee98ad0a8159p-29 -0x1.8f7c8184250bap-37 "
    ),
    # error 2^-27.74
    "SIN_FAST": ("-0x1.55554310d22abp-3 0x1.110667c945c60p-7 -0x1.98fc36df631fcp-13 "),
    # error 2^-32.71
    "COS_FAST": ("0x1.5555489f95368p-5 -0x1.6c0b5252dab76p-10 0x1.99ab3b1721513p-16 "),
    # error 2^-28.41
    "TANH_F32": (
        "-0x1.55553e0000000p-2 0x1.1109be0000000p-3 -0x1.b89ab80000000p-5 0x1.54c3a40000000p-6 "
        "-0x1.8286a40000000p-8 "
    ),
    # error 2^-62.62
    "TANH_F64": (
        "-0x1.5555555555554p-2 0x1.1111111110f00p-3 -0x1.ba1ba1b9f8990p-5 0x1.664f487983130p-6 "
        "-0x1.226e33f1733f1p-7 0x1.d6d389282b1b9p-9 -0x1.7d9eae04777a3p-10 0x1.3521c6a959fd1p-11 "
        "-0x1.f219b09201407p-13 0x1.83ed521eab4b3p-14 -0x1.0589fc23c4bc0p-15 0x1.b4682b76a3fddp-18 "
    ),
}


@functools.cache
def coefficients(name: str) -> tuple[float, ...]:
    return tuple(float.fromhex(c) for c in TEXT[name].split())
