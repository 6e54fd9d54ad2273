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
    # error 2^-28.41
    "TANH_F32": (
        "-0x1.55553e0000000p-2 0x1.1109be0000000p-3 -0x1.b89ab80000000p-5 0x1.54c3a40000000p-6 "
        "-0x1.8286a40000000p-8 "
    ),
    # error 2^-31.61
    "SINH_F32": (
        "0x1.5555560000000p-3 0x1.1110e00000000p-7 0x1.a022bc0000000p-13 0x1.756c140000000p-19 "
    ),
    # error 2^-27.45
    "ATAN_F32": (
        "-0x1.5555120000000p-2 0x1.997b040000000p-3 -0x1.22497c0000000p-3 0x1.9ff81c0000000p-4 "
        "-0x1.a3c8c20000000p-5 "
    ),
    # error 2^-27.61
    "ASIN_F32": (
        "0x1.5555c80000000p-3 0x1.3301fc0000000p-4 0x1.747d000000000p-5 0x1.8c2df40000000p-6 "
        "0x1.596cf40000000p-5 "
    ),
    # error 2^-13.74
    "CBRT_F32": (
        "0x1.1b0b620000000p-1 0x1.2c9ad20000000p-1 -0x1.4dc4860000000p-3 0x1.7a8fb60000000p-6 "
    ),
    # error 2^-29.39
    "ERF_F32": (
        "0x1.06eba80000000p-3 -0x1.81273e0000000p-2 0x1.ce2ce60000000p-4 -0x1.b7f71a0000000p-6 "
        "0x1.53f2240000000p-8 -0x1.a3515e0000000p-11 0x1.4771fc0000000p-14 "
    ),
    # error 2^-24.97
    "ERFC_F32": (
        "0x1.0dd5080000000p+0 -0x1.9bfb5c0000000p-1 0x1.d0cdf80000000p-2 -0x1.5eb2d40000000p-3 "
        "0x1.d1bc8a0000000p-6 0x1.0e35fc0000000p-7 -0x1.580d5a0000000p-8 0x1.311f3a0000000p-12 "
        "0x1.ec0f3c0000000p-10 -0x1.8271460000000p-10 -0x1.42c9040000000p-10 0x1.2149e40000000p-10 "
    ),
    # error 2^-24.55
    "ERFINV0_F32": (
        "0x1.805c5e0000000p+0 0x1.f91e860000000p-3 -0x1.11c9a80000000p-8 -0x1.485f120000000p-10 "
        "0x1.ca9d560000000p-13 -0x1.5163b20000000p-18 -0x1.e4efe00000000p-19 0x1.01bdc40000000p-21 "
        "0x1.b2160a0000000p-25 -0x1.4ff82a0000000p-27 -0x1.dcaf5c0000000p-30 "
    ),
    # error 2^-26.72
    "ERFINV1_F32": (
        "0x1.6a9efc0000000p+1 0x1.006dca0000000p+0 0x1.3580f20000000p-7 -0x1.f4e04c0000000p-8 "
        "0x1.74bfc40000000p-8 -0x1.d38bc80000000p-9 0x1.82b0f60000000p-10 -0x1.f77d4e0000000p-14 "
        "-0x1.22f8fc0000000p-12 0x1.50b30a0000000p-13 -0x1.ef2b580000000p-16 "
    ),
    # error 2^-25.01
    "I0E_F32": (
        "0x1.a7f0a00000000p-3 -0x1.cedd960000000p-6 0x1.8322380000000p-8 -0x1.6cbac60000000p-10 "
        "0x1.65d3400000000p-12 -0x1.5be74c0000000p-14 0x1.43fd580000000p-16 -0x1.1d7b8c0000000p-18 "
        "0x1.d8e4a20000000p-21 -0x1.5c3c660000000p-23 0x1.bfd4c20000000p-26 -0x1.4ebc160000000p-28 "
        "0x1.150c7c0000000p-30 -0x1.9bb7c60000000p-34 -0x1.5ac3c80000000p-38 -0x1.cf56b40000000p-40 "
        "0x1.c248600000000p-41 -0x1.3f95d20000000p-45 -0x1.6655920000000p-48 "
    ),
    # error 2^-25.24
    "I0E_LARGE_F32": (
        "0x1.9bd4280000000p-2 0x1.b8796c0000000p-5 0x1.1dab0a0000000p-5 0x1.75cbf00000000p-5 "
        "0x1.8c3ca60000000p-4 0x1.4998380000000p-2 0x1.d2d6620000000p+0 0x1.1165e40000000p+3 "
    ),
    # error 2^-24.26
    "I1E_F32": (
        "0x1.6e14ec0000000p-5 -0x1.f4bb080000000p-7 0x1.16c3660000000p-8 -0x1.1880f60000000p-10 "
        "0x1.0535fe0000000p-12 -0x1.c4e9060000000p-15 0x1.6d862a0000000p-17 -0x1.1337e60000000p-19 "
        "0x1.8926ae0000000p-22 -0x1.05e5760000000p-24 0x1.1a4ff00000000p-27 -0x1.17b4220000000p-30 "
        "0x1.37fa540000000p-32 -0x1.f257ec0000000p-35 -0x1.1c92000000000p-38 0x1.061f980000000p-39 "
        "0x1.30a5d20000000p-42 -0x1.63f5800000000p-44 -0x1.a6ca020000000p-49 0x1.2c536a0000000p-50 "
    ),
    # error 2^-26.72
    "I1E_LARGE_F32": (
        "0x1.8ebe780000000p-2 -0x1.3f79620000000p-3 -0x1.cbc5fe0000000p-5 -0x1.f882e80000000p-5 "
        "-0x1.ea25fe0000000p-4 -0x1.80138c0000000p-2 -0x1.0720480000000p+1 -0x1.3721ee0000000p+3 "
    ),
    # error 2^-62.62
    "TANH_F64": (
        "-0x1.5555555555554p-2 0x1.1111111110f00p-3 -0x1.ba1ba1b9f8990p-5 0x1.664f487983130p-6 "
        "-0x1.226e33f1733f1p-7 0x1.d6d389282b1b9p-9 -0x1.7d9eae04777a3p-10 0x1.3521c6a959fd1p-11 "
        "-0x1.f219b09201407p-13 0x1.83ed521eab4b3p-14 -0x1.0589fc23c4bc0p-15 0x1.b4682b76a3fddp-18 "
    ),
    # error 2^-62.95
    "SINH_F64": (
        "0x1.5555555555555p-3 0x1.111111111119bp-7 0x1.a01a01a00735dp-13 0x1.71de3a68cfdbfp-19 "
        "0x1.ae6441232ad2ep-26 0x1.61314cf195325p-33 0x1.a6657bfdc3684p-41 0x1.d29ef436ee30bp-48 "
    ),
    # error 2^-62.0
    "ATAN_F64": (
        "-0x1.5555555555552p-2 0x1.99999999990d3p-3 -0x1.2492492453487p-3 0x1.c71c71aae200ep-4 "
        "-0x1.745d138d84304p-4 0x1.3b13608c02849p-4 -0x1.110c6f40001b2p-4 0x1.e182b63562e3ap-5 "
        "-0x1.ac71e9715977dp-5 0x1.77f90ed70c747p-5 -0x1.30154dd805c77p-5 0x1.83917e7036da5p-6 "
        "-0x1.121e5ab5c9ce0p-7 "
    ),
    # error 2^-59.84
    "ASIN_F64": (
        "0x1.5555555555577p-3 0x1.333333332e110p-4 0x1.6db6db7214e73p-5 0x1.f1c71a93bb71cp-6 "
        "0x1.6e8bdf0910f61p-6 0x1.1c49ed1c6a1fap-6 0x1.ca1fe3610e8bbp-7 0x1.758291bdf9158p-7 "
        "0x1.614e47c42fe05p-7 0x1.e4dae09a2d3ccp-9 0x1.63f6779780f5ep-6 -0x1.588222effc902p-6 "
        "0x1.0b71be41e570fp-5 "
    ),
    # error 2^-16.73
    "CBRT_F64": (
        "0x1.0392fd0840717p-1 0x1.6fb15554831aap-1 -0x1.33d265b91600cp-2 0x1.609f5834370a2p-4 "
        "-0x1.5b7569a9005dfp-7 "
    ),
    # error 2^-56.31
    "ERF_F64": (
        "0x1.06eba8214db69p-3 -0x1.812746b037a31p-2 0x1.ce2f21a046b8ap-4 -0x1.b82ce313e07c4p-6 "
        "0x1.565bcd4acfccdp-8 -0x1.c02dc0a62623dp-11 0x1.f9a4dab78dbf6p-14 -0x1.f4f9b028501a9p-17 "
        "0x1.bc55208d1d8d3p-20 -0x1.79e02aaaf3fe8p-23 0x1.c050c4b505884p-26 -0x1.0fd1c3cfad527p-27 "
        "0x1.496f800cdbd9ep-29 -0x1.887097f5dd6ebp-32 "
    ),
    # error 2^-54.06
    "ERFC_F64": (
        "0x1.0dd50785280a5p+0 -0x1.9bfb53c4039d6p-1 0x1.d0cedcb8c8e49p-2 -0x1.5eb8eba1dfd2dp-3 "
        "0x1.d0acf6929d702p-6 0x1.1305f564b25ccp-7 -0x1.3bcdce904dc0dp-8 -0x1.cc8b0da7be63cp-12 "
        "0x1.706a21d6a605ap-11 0x1.e91c105caa463p-15 -0x1.d85a5dc9949e9p-14 -0x1.476e2cb827d01p-16 "
        "0x1.3363df1a6bb09p-16 0x1.bdfb6d489a439p-18 -0x1.60369c2015c03p-19 -0x1.90b2056803c9bp-20 "
        "0x1.6565b6a461ef5p-21 -0x1.c53c224348350p-21 -0x1.79ca36cfeae72p-21 0x1.1cae7485ee169p-19 "
        "0x1.1487bcd6f6a9dp-22 -0x1.17a377e924852p-19 0x1.dd6ff2ed282a5p-22 0x1.cbbd5491e4500p-21 "
        "-0x1.a43219d5c3b0ap-22 "
    ),
    # error 2^-55.75
    "ERFINV0_F64": (
        "0x1.a755e7c99ae86p+0 0x1.ebd80d9b13df8p-3 -0x1.8b6c33114ed59p-8 -0x1.84576948346fbp-11 "
        "0x1.879c2a20cdd81p-13 -0x1.d1d1f7cac9fdbp-17 -0x1.6e8a53e5a39c1p-20 0x1.c6b4f8a5d3af9p-22 "
        "-0x1.f36ce763f3becp-26 -0x1.1a9eb5614e49ep-28 0x1.20f4ff2e3498bp-30 -0x1.dc3e253cc68a4p-35 "
        "-0x1.c899c678eb2e5p-37 0x1.7231dd9c7c90fp-39 -0x1.6d19f5902f62cp-44 -0x1.684118dac2a6cp-45 "
        "0x1.da01a6dd5d8d9p-48 -0x1.84a62287a7603p-55 -0x1.27bcd869adadap-53 0x1.21c4f7e215074p-56 "
        "0x1.2dc9cbdb88a84p-60 -0x1.a3af54e8bdd2dp-62 0x1.1d73808de9dc9p-68 0x1.f8af820c84213p-69 "
        "-0x1.8d9adacd0f919p-74 "
    ),
    # error 2^-54.94
    "ERFINV1_F64": (
        "0x1.8abcc380d5a48p+1 0x1.0158a6d641d52p+0 0x1.5ffcfe5b6246bp-8 -0x1.ebadabb9d7ad3p-9 "
        "0x1.468eecaf1f754p-9 -0x1.ba9240e522011p-10 0x1.f3cc51d539533p-11 -0x1.7448b95dcbe1bp-12 "
        "0x1.93330e448a279p-16 0x1.1e6a3a1e93766p-14 -0x1.8d06fcde9047cp-15 0x1.a258e9d38fd8fp-17 "
        "0x1.8f99f1cf7302bp-19 -0x1.0c1f558034338p-18 0x1.65fb890263bcdp-20 -0x1.945c635315386p-28 "
        "0x1.29f66fb13d2a3p-24 0x1.b4056520fa19bp-24 -0x1.d4ff487be820bp-22 0x1.11e1f569b79cdp-27 "
        "0x1.557dcaba71318p-22 -0x1.0947f4f7f690bp-27 -0x1.ad86670d8558bp-24 "
    ),
    # error 2^-55.23
    "ERFINV2_F64": (
        "0x1.3664ddd1ad7fbp+2 0x1.02a30d1fba112p+0 -0x1.22ea5df24c5d0p-13 -0x1.c2f36aa498645p-13 "
        "0x1.3ebf4f18de4dbp-14 -0x1.4a348e78ae95dp-16 0x1.2fbce7e03a7b1p-18 -0x1.0a911976c8377p-20 "
        "0x1.ebf34bd549477p-23 -0x1.21fa6bcd6a95cp-24 0x1.f0c7be6947cc5p-26 -0x1.07d6473b35163p-26 "
        "0x1.14409a88dfcadp-27 -0x1.c7b0822154427p-29 0x1.1972941e960aap-30 -0x1.3dc0337d8b026p-31 "
        "0x1.523242a9b1733p-32 0x1.ec2af778e141dp-34 -0x1.1ade03e891850p-33 -0x1.f5ce43b625900p-37 "
        "0x1.729c5e5734ccfp-36 "
    ),
    # error 2^-55.0
    "I0E_F64": (
        "0x1.a7f09f8eedf5ap-3 -0x1.cedda0048620cp-6 0x1.8322d1d8a3bcdp-8 -0x1.6cb8d0c915893p-10 "
        "0x1.65c235bfea540p-12 -0x1.5c028fe6476fcp-14 0x1.44b6196a81955p-16 -0x1.1cd73a8e6f327p-18 "
        "0x1.d11e10f4e748cp-21 -0x1.602411e26fafep-23 0x1.ee6f5662497dfp-26 -0x1.427b09968408dp-28 "
        "0x1.87e866b8e4d59p-31 -0x1.bd258e79142c8p-34 0x1.da1ab05324c27p-37 -0x1.daf9b6c0940d5p-40 "
        "0x1.c0f3ee0c32f0fp-43 -0x1.917ff788a9302p-46 0x1.549d178ed0d30p-49 -0x1.12c77b9e69f57p-52 "
        "0x1.a6872f13919efp-56 -0x1.36407e3ae8771p-59 0x1.b3f58df16d9cap-63 -0x1.25a12343fbc83p-66 "
        "0x1.7be10c3f4b9d4p-70 -0x1.d84bc8500ff48p-74 0x1.19f5c5d3f0bf6p-77 -0x1.468174f84b95cp-81 "
        "0x1.751f7d1f15214p-85 -0x1.8be2ec4cddbf2p-89 0x1.5da0d98854833p-93 -0x1.7c7b988e041c0p-97 "
        "0x1.3fa2a269ea681p-100 -0x1.14f5fe2819c81p-104 "
    ),
    # error 2^-53.81
    "I0E_LARGE_F64": (
        "0x1.9bd428ad249a5p-2 0x1.b87969bb93c07p-5 0x1.1daa72b5a3148p-5 0x1.75e5ee6e5287dp-5 "
        "0x1.8e51407b9dd6cp-4 0x1.3f49b4055da12p-2 0x1.7d07e7e625b69p+0 0x1.51c9445cd1a8dp+3 "
        "0x1.734cb91bd338ep+6 0x1.042e42ba5d0ffp+9 -0x1.e930e0fa0edc4p+12 -0x1.cf73527b40157p+17 "
        "-0x1.15ed006061824p+20 0x1.0b560d6468deap+25 0x1.1d0a893133957p+28 -0x1.0e4154b81c3ffp+32 "
        "-0x1.71078d26a734bp+33 0x1.1820283116d95p+39 -0x1.0f812aef0a586p+43 -0x1.0929b1914dacbp+46 "
        "0x1.295998da7edf2p+51 0x1.62226cf9ce6f2p+52 -0x1.149f9396017f6p+58 -0x1.c810812df0236p+57 "
        "0x1.9bbfc6495ef38p+63 "
    ),
    # error 2^-53.14
    "I1E_F64": (
        "0x1.6e14eb8e5d319p-5 -0x1.f4bb071a7752cp-7 0x1.16c390ddb0870p-8 -0x1.1881379ffb509p-10 "
        "0x1.0530f81802cbcp-12 -0x1.c4daa5134b197p-15 0x1.6df95e8adcc2ap-17 -0x1.13d5f3572d954p-19 "
        "0x1.84125b38a13e6p-22 -0x1.fe3d9c7cec4f6p-25 0x1.3a0c159bf7583p-27 -0x1.6ab6974ea9e6ap-30 "
        "0x1.89f93b9d2a116p-33 -0x1.9369be29bce0bp-36 0x1.864918f8e7cb4p-39 -0x1.659a99e10cfeep-42 "
        "0x1.3828862ef8b06p-45 -0x1.04065cc275264p-48 0x1.808363295db20p-52 -0x1.f0de999462a3cp-56 "
        "0x1.a673a8d85b100p-58 -0x1.524aeb56e5cccp-60 -0x1.3d400cd5da21fp-62 0x1.b1379342233dap-64 "
        "0x1.b2a1b7209f115p-66 -0x1.146ad02600e06p-67 -0x1.8e66d2425b7fap-70 0x1.f96261dfe0c36p-72 "
        "0x1.05104273c1b52p-74 -0x1.48c125db51ca0p-76 -0x1.cb9db4cfd8bb8p-80 0x1.1f98fdcefdac0p-81 "
        "0x1.e788b3bf0ef08p-86 -0x1.2f4e050c178f4p-87 -0x1.d6bdff8aae023p-93 0x1.234c4f17b1411p-94 "
    ),
    # error 2^-55.74
    "I1E_LARGE_F64": (
        "0x1.8ebe783a84030p-2 -0x1.3f796198ee600p-3 -0x1.cbc54df1f8d17p-5 -0x1.f89c2309dc1efp-5 "
        "-0x1.ec8e0ef3431e4p-4 -0x1.7613733c37fc1p-2 -0x1.ad8f13977f4f4p+0 -0x1.727eae949ec68p+3 "
        "-0x1.914b4ffe63205p+6 -0x1.2116d1ba294c5p+9 0x1.c8a400f2a89d9p+12 0x1.e032c2ecb965ap+17 "
        "0x1.b1033323db294p+20 -0x1.0137ca6e18affp+25 -0x1.2a08aedda1714p+29 0x1.b13b0eb1f2d3dp+31 "
        "0x1.01ce36eff4550p+37 -0x1.35374222b200bp+38 -0x1.609508d620b6ep+44 0x1.4dd25521a2746p+44 "
        "0x1.630e0f64a7741p+51 -0x1.9fc339768fa21p+49 -0x1.c47e44014de7ap+57 0x1.0cec22e34ad0cp+53 "
        "0x1.0bcb307221c39p+63 "
    ),
    # error 2^-38.29
    "POW_LOG2_FAST": (
        "0x1.71547652b594cp+0 -0x1.715476519731fp-1 0x1.ec709de281adep-2 -0x1.715478c435be8p-2 "
        "0x1.2776b77cd7cedp-2 -0x1.ec6f14ce59855p-3 0x1.a61b3023ae65fp-3 -0x1.718ab8f2f0d94p-3 "
        "0x1.4825efac5fd6ap-3 -0x1.23c867f863a74p-3 0x1.0a993436fd228p-3 -0x1.13ce2c6a6da10p-3 "
        "0x1.0ff7ed1a9eb88p-3 -0x1.1e3a7cb818c69p-4 "
    ),
    # error 2^-28.99
    "POW_EXP2_FAST": (
        "0x1.00000002685c1p+0 0x1.62e430c93174bp-1 0x1.ebfbdad23e2a7p-3 0x1.c6aed2f19c1b3p-5 "
        "0x1.3b2dc09386e17p-7 0x1.5f46531c55688p-10 0x1.41d178d28316cp-13 "
    ),
    # error 2^-72.32
    "POW_LOG_F64": (
        "0x1.9999999999995p-2 0x1.2492492493192p-2 0x1.c71c71c557433p-3 0x1.745d1845e6088p-3 "
        "0x1.3b135d88404d4p-3 0x1.11217b768ba05p-3 0x1.de1448760811cp-4 0x1.ec12de4120714p-4 "
    ),
    # error 2^-34.89
    "LGAMMA_FAST": (
        "0x1.b0ee60722bdf7p-2 0x1.4a34cc4e72ecfp-2 -0x1.13e0021955dd4p-4 0x1.5132161762942p-6 "
        "-0x1.e403fc83de5fep-8 0x1.7aebffc7c66eap-9 -0x1.38dfe55d14039p-10 0x1.09247e584be1bp-11 "
        "-0x1.cab91c928d44ep-13 0x1.e1e71513bb153p-14 -0x1.d76cb2802025cp-15 "
    ),
    # error 2^-49.18
    "STIRLING_FAST": (
        "0x1.555555551d3ecp-4 -0x1.6c16b044210f4p-9 0x1.9fe5a4fb43d3fp-11 -0x1.28302c27bb256p-11 "
    ),
    # error 2^-34.3
    "DIGAMMA_FAST": (
        "0x1.e6f0cbb89ab42p-1 -0x1.b1cb62ee9cebcp-2 0x1.eca188de70e36p-3 -0x1.2feefa1a136fdp-3 "
        "0x1.85134d84cf78ep-4 -0x1.fb3d7e2658793p-5 0x1.4dd689ed5d9d6p-5 -0x1.ba99f6c9fd1bcp-6 "
        "0x1.27176ddfe1a6ep-6 -0x1.7f3e9f920cfe7p-7 0x1.dff5a95525762p-8 -0x1.77c2489124a59p-8 "
        "0x1.54f8653158b39p-8 -0x1.4335189c88db0p-9 "
    ),
    # error 2^-46.04
    "DIGAMMA_LARGE_FAST": (
        "0x1.5555555366a8cp-4 -0x1.1110eb2db3572p-7 0x1.03d64d463d21ap-8 -0x1.fed094d55fde9p-9 "
    ),
    # error 2^-35.45
    "SINPI_FAST": (
        "0x1.921fb5441e4c5p+1 -0x1.4abbce4f1a552p+2 0x1.466bbfc3398e7p+1 -0x1.32d11239abd6cp-1 "
        "0x1.5010009204c61p-4 -0x1.cc3536f6cf05ap-8 "
    ),
    # error 2^-38.5
    "COSPI_FAST": (
        "0x1.fffffffffa57fp-1 -0x1.3bd3cc9b1340dp+2 0x1.03c1f0580d5bbp+2 -0x1.55d3baf3ee2fbp+0 "
        "0x1.e1f1163202851p-3 -0x1.a630a51986b57p-6 0x1.dfb056d00d587p-10 "
    ),
    # error 2^-56.14
    "LGAMMA_F64": (
        "0x1.b0ee6072093cep-2 0x1.4a34cc4a60fa5p-2 -0x1.13e001a557520p-4 0x1.51322ac7d97e5p-6 "
        "-0x1.e404fc21ef22cp-8 0x1.7add6eab06484p-9 -0x1.38ac5beebd59cp-10 0x1.0b36b0e150229p-11 "
        "-0x1.d3fd73a23a595p-13 0x1.a126f37831ffep-14 -0x1.78d7565c9e740p-15 0x1.582c2eea99d0ep-16 "
        "-0x1.3d7920f444cebp-17 0x1.22a5dda10fb55p-18 -0x1.06427bdfc784ap-19 0x1.2be2e57c048cfp-20 "
        "-0x1.4f3860281abd9p-21 -0x1.f51b41eff27c5p-24 0x1.49c31eacbbce7p-25 0x1.667dfa2eb8d11p-22 "
    ),
    # error 2^-69.96
    "STIRLING_F64": (
        "0x1.5555555555555p-4 -0x1.6c16c16c12610p-9 0x1.a01a017912704p-11 -0x1.381357a134a83p-11 "
        "0x1.b939d1afa6be0p-11 -0x1.f2b8e944551f7p-10 0x1.75fa55c2199d3p-8 -0x1.a03d5b9eaff6bp-7 "
    ),
    # error 2^-54.19
    "DIGAMMA_F64": (
        "0x1.e6f0cbb873616p-1 -0x1.b1cb63005eea1p-2 0x1.eca189b8e7563p-3 -0x1.2feeeb98a640bp-3 "
        "0x1.8512e58fc039fp-4 -0x1.fb44202befd92p-5 0x1.4de9aa52fb6fcp-5 -0x1.b9f8b08b6899ap-6 "
        "0x1.2564627770a70p-6 -0x1.86357ccb22d66p-7 0x1.03c2e1e43e104p-7 -0x1.5a04168f77ab6p-8 "
        "0x1.ccb8da11903e6p-9 -0x1.3398025a17968p-9 0x1.9fe2ca6e9fd2ep-10 -0x1.0dfb50a3c4bbdp-10 "
        "0x1.2fd05a3989bedp-11 -0x1.09c08140dc237p-11 0x1.58b871fbf139ap-11 -0x1.c2aceb0d49aaep-14 "
        "-0x1.ea04e6bcc3edep-12 -0x1.b1a62eaa3f278p-13 0x1.16035718c445bp-11 "
    ),
    # error 2^-70.1
    "DIGAMMA_LARGE_F64": (
        "0x1.5555555555555p-4 -0x1.111111110fa43p-7 0x1.041040fbe2951p-8 -0x1.111105c6e8e7fp-8 "
        "0x1.f0737c6bb93a8p-8 -0x1.589d3bb7f9eb1p-6 0x1.44d007cc0be63p-4 -0x1.26459c25c475cp-2 "
    ),
    # error 2^-54.48
    "SINPI_F64": (
        "0x1.921fb54442d18p+1 -0x1.4abbce625be0fp+2 0x1.466bc67757ff5p+1 -0x1.32d2cce4ddc28p-1 "
        "0x1.507833e749351p-4 -0x1.e306fb759b152p-8 0x1.e8db74fd78b7bp-12 -0x1.6bda25c735da9p-16 "
        "0x1.2abe4d768a01ap-21 "
    ),
    # error 2^-59.83
    "COSPI_F64": (
        "0x1.0000000000000p+0 -0x1.3bd3cc9be45dep+2 0x1.03c1f081b5a9dp+2 -0x1.55d3c7e3ca8ccp+0 "
        "0x1.e1f50688406e5p-3 -0x1.a6d1f258edf62p-6 0x1.f9d36d3cce9c0p-10 -0x1.b6db78317a7b8p-14 "
        "0x1.1fdd9caae218cp-18 -0x1.0cb042311d523p-23 "
    ),
}


@functools.cache
def coefficients(name: str) -> tuple[float, ...]:
    return tuple(float.fromhex(c) for c in TEXT[name].split())
