/* Bytes as text (RFC 4648). */
#ifndef SPLAT_BASE_BASE64_H
#define SPLAT_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static inline void splat_base64_put(FILE *out, const uint8_t *data, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t bits = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                        (left > 2 ? data[i + 2] : 0);
        fputc(digits[bits >> 18], out);
        fputc(digits[bits >> 12 & 63], out);
        fputc(left > 1 ? digits[bits >> 6 & 63] : '=', out);
        fputc(left > 2 ? digits[bits & 63] : '=', out);
    }
}

/* Digits of text, n characters, as at most n / 4 * 3 + 3 bytes; white space and what follows "=" is passed over. False:
 * something else stands there. */
static inline bool splat_base64_get(const char *text, size_t n, uint8_t *out, size_t *size)
{
    uint32_t bits = 0;
    int n_bits = 0;
    *size = 0;
    for (size_t i = 0; i < n && text[i] != '='; i++) {
        char c = text[i];
        uint32_t digit;
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
        if (c >= 'A' && c <= 'Z') digit = (uint32_t)(c - 'A');
        else if (c >= 'a' && c <= 'z') digit = (uint32_t)(c - 'a') + 26;
        else if (c >= '0' && c <= '9') digit = (uint32_t)(c - '0') + 52;
        else if (c == '+') digit = 62;
        else if (c == '/') digit = 63;
        else return false;
        bits = bits << 6 | digit;
        n_bits += 6;
        if (n_bits < 8) continue;
        n_bits -= 8;
        out[(*size)++] = (uint8_t)(bits >> n_bits);
    }
    return true;
}

#endif
