/* JSON without a tree; see json_scan.h. */
#include "run/json_scan.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "run/text.h"

struct scanner {
        const char *at, *end;
        const char *wrong;
        unsigned depth;
        uint8_t in_object[JSON_SCAN_DEPTH_MAX]; /* of each level: an object, else a list */
};

static bool fail(struct scanner *s, const char *wrong) {
        s->wrong = wrong;
        return false;
}

static void skip_space(struct scanner *s) {
        while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n'))
                s->at++;
}

static bool take(struct scanner *s, char c) {
        if (s->at == s->end || *s->at != c)
                return false;
        s->at++;
        return true;
}

/* ---- strings */

/* The four digits of "\uXXXX"; -1: there are no four. */
static long take_unit(struct scanner *s) {
        long unit = 0;
        if (s->end - s->at < 4)
                return -1;
        for (int i = 0; i < 4; i++) {
                unsigned char c = (unsigned char)*s->at++;
                if (!isxdigit(c))
                        return -1;
                unit = unit * 16 + (isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
        }
        return unit;
}

static bool take_code_point(struct scanner *s) {
        static const char lone[] = "a lone surrogate (half a character) stands in a string";
        long unit = take_unit(s);
        if (unit < 0)
                return fail(s, "an escape in a string is broken");
        if (unit < 0xd800 || unit > 0xdfff)
                return true;
        if (unit > 0xdbff || !take(s, '\\') || !take(s, 'u'))
                return fail(s, lone);
        unit = take_unit(s);
        return (unit >= 0xdc00 && unit <= 0xdfff) || fail(s, lone);
}

static bool take_escape(struct scanner *s) {
        if (s->at == s->end || *s->at == '\0' || !strchr("\"\\/bfnrtu", *s->at))
                return fail(s, "an escape in a string is broken");
        return *s->at++ != 'u' || take_code_point(s);
}

static bool take_character(struct scanner *s) {
        bool valid;
        size_t length = text_step((const unsigned char *)s->at, (size_t)(s->end - s->at), &valid);
        if (length == 0 || !valid)
                return fail(s, "a string is not UTF-8");
        s->at += length;
        return true;
}

/* After its opening quote. */
static bool take_string(struct scanner *s) {
        while (s->at < s->end) {
                unsigned char c = (unsigned char)*s->at;
                if (c == '"') {
                        s->at++;
                        return true;
                }
                if (c < 0x20)
                        return fail(s, "a control character stands in a string");
                if (c == '\\') {
                        s->at++;
                        if (!take_escape(s))
                                return false;
                } else if (c < 0x80)
                        s->at++;
                else if (!take_character(s))
                        return false;
        }
        return fail(s, "it ends within a string");
}

/* ---- numbers and words */

static bool take_digits(struct scanner *s) {
        const char *from = s->at;
        while (s->at < s->end && isdigit((unsigned char)*s->at))
                s->at++;
        return s->at > from;
}

static bool take_number(struct scanner *s) {
        static const char wrong[] = "a number is written as JSON has none";
        take(s, '-');
        if (!take(s, '0') && !take_digits(s))
                return fail(s, wrong);
        if (take(s, '.') && !take_digits(s))
                return fail(s, wrong);
        if (take(s, 'e') || take(s, 'E')) {
                if (!take(s, '+'))
                        take(s, '-');
                if (!take_digits(s))
                        return fail(s, wrong);
        }
        return true;
}

static bool take_word(struct scanner *s) {
        static const char *const words[] = {"true", "false", "null"};
        for (size_t i = 0; i < 3; i++) {
                size_t length = strlen(words[i]);
                if ((size_t)(s->end - s->at) >= length && memcmp(s->at, words[i], length) == 0) {
                        s->at += length;
                        return true;
                }
        }
        return fail(s, s->at == s->end ? "it ends too early" : "something in it is no JSON, such as NaN");
}

static bool take_scalar(struct scanner *s) {
        if (take(s, '"'))
                return take_string(s);
        if (s->at < s->end && (*s->at == '-' || isdigit((unsigned char)*s->at)))
                return take_number(s);
        return take_word(s);
}

/* ---- lists and objects */

static bool take_key(struct scanner *s) {
        skip_space(s);
        if (!take(s, '"'))
                return fail(s, "a name in an object is no string");
        if (!take_string(s))
                return false;
        skip_space(s);
        return take(s, ':') || fail(s, "a name in an object has no value");
}

/* "[" or "{" is at hand: goes down. *ret_whole: it is empty, and so over already. */
static bool take_open(struct scanner *s, bool *ret_whole) {
        bool is_object = *s->at++ == '{';
        skip_space(s);
        *ret_whole = take(s, is_object ? '}' : ']');
        if (*ret_whole)
                return true;
        if (s->depth == JSON_SCAN_DEPTH_MAX)
                return fail(s, "it is nested deeper than 256 levels");
        s->in_object[s->depth++] = is_object;
        return !is_object || take_key(s);
}

/* What follows a value: the end of its level and of those above it, or a comma. False: wrong, or *ret_over. */
static bool take_rest(struct scanner *s, bool *ret_more) {
        while (s->depth > 0) {
                bool is_object = s->in_object[s->depth - 1];
                skip_space(s);
                if (take(s, ',')) {
                        *ret_more = true;
                        return !is_object || take_key(s);
                }
                if (!take(s, is_object ? '}' : ']'))
                        return fail(s, s->at == s->end ? "it ends too early" : "a comma or a bracket is missing");
                s->depth--;
        }
        *ret_more = false;
        return true;
}

static bool take_value(struct scanner *s) {
        for (bool more = true; more;) {
                bool whole = true;
                skip_space(s);
                bool opens = s->at < s->end && (*s->at == '[' || *s->at == '{');
                if (opens ? !take_open(s, &whole) : !take_scalar(s))
                        return false;
                if (whole && !take_rest(s, &more))
                        return false;
        }
        return true;
}

static bool take_end(struct scanner *s) {
        skip_space(s);
        return s->at == s->end || fail(s, "something follows after its end");
}

bool json_scan(const char *bytes, size_t length, const char **ret_wrong) {
        struct scanner s = {.at = bytes, .end = bytes + length};
        bool good = take_value(&s) && take_end(&s);
        *ret_wrong = s.wrong;
        return good;
}

/* ---- the members of one object */

static bool note_member(struct scanner *s, struct json_span name, struct json_span value,
                        const struct json_member *members, size_t count) {
        for (size_t i = 0; i < count; i++) {
                if (strlen(members[i].name) != name.length || memcmp(members[i].name, name.bytes, name.length) != 0)
                        continue;
                if (members[i].value->bytes)
                        return fail(s, "a name stands twice in it");
                *members[i].value = value;
        }
        return true;
}

static bool take_member(struct scanner *s, const struct json_member *members, size_t count) {
        skip_space(s);
        const char *name = s->at + 1;
        if (!take(s, '"') || !take_string(s))
                return fail(s, s->wrong ? s->wrong : "a name in an object is no string");
        size_t name_length = (size_t)(s->at - 1 - name);
        skip_space(s);
        if (!take(s, ':'))
                return fail(s, "a name in an object has no value");
        skip_space(s);
        const char *value = s->at;
        if (!take_value(s))
                return false;
        return note_member(s, (struct json_span){name, name_length}, (struct json_span){value, (size_t)(s->at - value)},
                           members, count);
}

static bool take_members(struct scanner *s, const struct json_member *members, size_t count) {
        skip_space(s);
        if (!take(s, '{'))
                return fail(s, "it is no object");
        skip_space(s);
        if (take(s, '}'))
                return true;
        do {
                if (!take_member(s, members, count))
                        return false;
                skip_space(s);
        } while (take(s, ','));
        return take(s, '}') || fail(s, "a comma or a bracket is missing");
}

bool json_scan_object(const char *bytes, size_t length, const struct json_member *members, size_t count,
                      const char **ret_wrong) {
        struct scanner s = {.at = bytes, .end = bytes + length};
        for (size_t i = 0; i < count; i++)
                *members[i].value = (struct json_span){.bytes = NULL};
        bool good = take_members(&s, members, count) && take_end(&s);
        *ret_wrong = s.wrong;
        return good;
}
