/* CRC-32C (Castagnoli), the checksum of iSCSI (RFC 3720, appendix B.4) and of TFRecord files. */
#ifndef SPLAT_IO_CRC32C_H
#define SPLAT_IO_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of the bytes that `before` is the checksum of (0: none), followed by these n. */
uint32_t splat_crc32c(uint32_t before, const void *data, size_t n);

#endif
