#include "launcher.h"

#include <string.h>

/* How many bytes the character at text takes, or 0 when it is not UTF-8 (overlong forms and surrogates included). */
static size_t utf8_length(const unsigned char *text, size_t rest) {
  if (text[0] < 0x80) return 1;
  size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
  if (text[0] < 0xc2 || text[0] > 0xf4 || length > rest) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((text[i] & 0xc0) != 0x80) return 0;
  }
  if (text[0] == 0xe0 && text[1] < 0xa0) return 0;
  if (text[0] == 0xed && text[1] > 0x9f) return 0;
  if (text[0] == 0xf0 && text[1] < 0x90) return 0;
  if (text[0] == 0xf4 && text[1] > 0x8f) return 0;
  return length;
}

bool is_utf8(const char *text, size_t length) {
  for (size_t i = 0; i < length;) {
    size_t step = utf8_length((const unsigned char *)text + i, length - i);
    if (step == 0) return false;
    i += step;
  }
  return true;
}

static void json_character(FILE *out, unsigned char character) {
  if (character == '"' || character == '\\') {
    fputc('\\', out);
    fputc(character, out);
  } else if (character < 0x20 || character == 0x7f) {
    fprintf(out, "\\u%04x", character);
  } else {
    fputc(character, out);
  }
}

void json_string(FILE *out, const char *text, size_t length) {
  fputc('"', out);
  for (size_t i = 0; i < length; i++) json_character(out, (unsigned char)text[i]);
  fputc('"', out);
}

void json_ascii(FILE *out, const char *text) {
  fputc('"', out);
  for (; *text != '\0'; text++) {
    unsigned char character = (unsigned char)*text;
    json_character(out, character < 0x20 || character > 0x7e ? '?' : character);
  }
  fputc('"', out);
}

void base64(FILE *out, const char *text, size_t length) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  fputc('"', out);
  for (size_t i = 0; i < length; i += 3) {
    size_t rest = length - i;
    unsigned bits = (unsigned)(unsigned char)text[i] << 16;
    if (rest > 1) bits |= (unsigned)(unsigned char)text[i + 1] << 8;
    if (rest > 2) bits |= (unsigned)(unsigned char)text[i + 2];
    fputc(digits[bits >> 18 & 63], out);
    fputc(digits[bits >> 12 & 63], out);
    fputc(rest > 1 ? digits[bits >> 6 & 63] : '=', out);
    fputc(rest > 2 ? digits[bits & 63] : '=', out);
  }
  fputc('"', out);
}
