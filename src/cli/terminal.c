/* Text on its way to a terminal; see terminal.h. */
#include "cli/terminal.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/utf8.h"

#define ESCAPE 0x1b
#define DELETE 0x7f
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

void terminal_init(struct terminal_stream *stream, FILE *file, bool raw) {
        const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
        bool is_terminal = isatty(fileno(file)) == 1;
        bool dumb = terminal && strcmp(terminal, "dumb") == 0;
        *stream = (struct terminal_stream){
                .file = file,
                .filter = is_terminal && !raw,
                .colour = is_terminal && !dumb && !(no_colour && *no_colour),
        };
}

static int put(struct terminal_stream *stream, const void *bytes, size_t length) {
        errno = 0;
        if (fwrite(bytes, 1, length, stream->file) == length)
                return 0;
        return errno > 0 ? -errno : -EIO;
}

static bool is_plain(unsigned char c) {
        return (c >= ' ' && c != DELETE && c < 0x80) || c == '\n' || c == '\t' || c == '\r';
}

/* Shows a control character as people write it: ^[ for escape, ^? for delete. */
static int put_visible(struct terminal_stream *stream, unsigned char c) {
        const char caret[2] = {'^', (char)(c ^ 0x40)};
        return put(stream, caret, 2);
}

/* Writes what was held back, now that it cannot become a colour or a character; a broken character as one mark. */
static int give_up(struct terminal_stream *stream) {
        int r = 0;
        bool character = stream->held_length > 0 && stream->held[0] >= 0x80;
        if (character)
                r = put(stream, REPLACEMENT, strlen(REPLACEMENT));
        for (size_t i = 0; !character && r == 0 && i < stream->held_length; i++) {
                unsigned char c = stream->held[i];
                r = is_plain(c) ? put(stream, &c, 1) : put_visible(stream, c);
        }
        stream->held_length = 0;
        return r;
}

enum verdict { MORE, PASS, REFUSE };

/* "ESC [ 1 ; 31 m": digits, semicolons and colons only. */
static enum verdict judge_sequence(const struct terminal_stream *stream) {
        unsigned char last = stream->held[stream->held_length - 1];
        if (stream->held_length == 1)
                return MORE;
        if (stream->held_length == 2)
                return last == '[' ? MORE : REFUSE;
        if (last == 'm')
                return PASS;
        bool parameter = (last >= '0' && last <= '9') || last == ';' || last == ':';
        return parameter && stream->held_length < TERMINAL_HELD_MAX ? MORE : REFUSE;
}

/* A character beyond ASCII: whole, valid, and none of the controls U+0080 to U+009F. */
static enum verdict judge_character(const struct terminal_stream *stream) {
        uint32_t character;
        size_t wanted = utf8_length(stream->held[0]);
        if (wanted == 0)
                return REFUSE;
        if (stream->held_length < wanted)
                return MORE;
        if (utf8_decode(stream->held, stream->held_length, &character) != wanted)
                return REFUSE;
        return character < 0xa0 ? REFUSE : PASS;
}

static int add(struct terminal_stream *stream, unsigned char c) {
        if (stream->held_length == 0 && is_plain(c))
                return put(stream, &c, 1);
        /* A byte that cannot go on with what is held begins anew, so that nothing behind it is swallowed. */
        bool continues =
                stream->held_length == 0 || (stream->held[0] == ESCAPE ? is_plain(c) && c >= ' ' : (c & 0xc0) == 0x80);
        if (!continues) {
                int r = give_up(stream);
                return r < 0 ? r : add(stream, c);
        }
        stream->held[stream->held_length++] = c;

        enum verdict verdict = REFUSE;
        if (stream->held[0] == ESCAPE)
                verdict = judge_sequence(stream);
        else if (stream->held[0] >= 0x80)
                verdict = judge_character(stream);
        if (verdict == MORE)
                return 0;
        if (verdict == REFUSE)
                return give_up(stream);
        size_t length = stream->held_length;
        stream->held_length = 0;
        stream->coloured = stream->coloured || stream->held[0] == ESCAPE;
        return put(stream, stream->held, length);
}

int terminal_write(struct terminal_stream *stream, const char *bytes, size_t length) {
        int r = 0;
        if (!stream->filter)
                r = put(stream, bytes, length);
        for (size_t i = 0; stream->filter && r == 0 && i < length; i++)
                r = add(stream, (unsigned char)bytes[i]);
        errno = 0;
        if (r == 0 && fflush(stream->file) != 0)
                r = errno > 0 ? -errno : -EIO;
        return r;
}

int terminal_finish(struct terminal_stream *stream) {
        static const char reset[] = "\x1b[0m";
        int r = give_up(stream);
        if (r == 0 && stream->coloured)
                r = put(stream, reset, strlen(reset));
        stream->coloured = false;
        errno = 0;
        if (r == 0 && fflush(stream->file) != 0)
                r = errno > 0 ? -errno : -EIO;
        return r;
}

/* Marks and overrides of writing direction can make a name read as another: "exe.gpj" for "jpg.exe". */
static bool is_deceptive(uint32_t character) {
        return character == 0x061c || character == 0x200e || character == 0x200f ||
               (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069) ||
               character == 0xfeff;
}

char *terminal_line(const char *text, size_t length) {
        char *line = NULL;
        size_t size;
        FILE *out = open_memstream(&line, &size);
        if (!out)
                return NULL;
        for (size_t i = 0; i < length;) {
                uint32_t character = 0;
                size_t used = utf8_decode((const unsigned char *)text + i, length - i, &character);
                bool shown = used > 0 && character >= ' ' && !(character >= DELETE && character < 0xa0) &&
                             !is_deceptive(character);
                if (shown)
                        fwrite(text + i, 1, used, out);
                else
                        fputs(REPLACEMENT, out);
                i += used > 0 ? used : 1;
        }
        if (fclose(out) != 0) {
                free(line);
                return NULL;
        }
        return line;
}
