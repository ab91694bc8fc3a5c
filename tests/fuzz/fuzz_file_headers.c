/*
 * Fuzz target: headers about a kept file, and its name. A part never lies outside of the file; what is said of the name
 * is printable ASCII with no quote but the two around it.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent_tools.h"
#include "api/file_headers.h"
#include "api/paging.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check_range(const char *text) {
        static const uint64_t sizes[] = {0, 1, 1000, 4 << 20};
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                struct range range = range_parse(text, sizes[i]);
                if (range.kind == RANGE_WHOLE)
                        assert(range.offset == 0 && range.length == sizes[i]);
                if (range.kind == RANGE_PART)
                        assert(range.length > 0 && range.offset < sizes[i] && range.length <= sizes[i] - range.offset);
        }
}

static void check_name(const char *text) {
        char name[1025], disposition[DISPOSITION_BYTES];
        unsigned quotes = 0;
        size_t length = strnlen(text, sizeof(name) - 1);
        memcpy(name, text, length);
        name[length] = '\0';
        disposition_print(name, true, disposition);
        for (const char *c = disposition; *c; c++) {
                assert(*c >= ' ' && *c <= '~');
                quotes += *c == '"';
        }
        assert(quotes == 2);
}

static void check_cursor(const char *text) {
        struct store_cursor cursor, again;
        char printed[CURSOR_TEXT_BYTES];
        if (!cursor_parse(text, &cursor))
                return;
        assert(cursor.ms >= 0 && cursor.id >= 0);
        cursor_print(cursor, printed);
        assert(cursor_parse(printed, &again) && again.ms == cursor.ms && again.id == cursor.id);
}

/* What was taken is the text of a list, and is taken again as it is. */
static void check_tools(const char *text) {
        json_t *tools = json_loads(text, 0, NULL);
        char *taken = NULL, *again = NULL;
        struct err e;
        if (json_is_array(tools) && agent_tools_take(tools, &taken, &e) == 0) {
                json_t *list = json_loads(taken, 0, NULL);
                assert(json_is_array(list) && agent_tools_take(list, &again, &e) == 0);
                assert(strcmp(taken, again) == 0);
                json_decref(list);
        }
        free(taken);
        free(again);
        json_decref(tools);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
        char *text = malloc(length + 1);
        if (!text)
                return 0;
        memcpy(text, bytes, length);
        text[length] = '\0';
        check_range(text);
        etag_is_listed(text, "\"0123456789abcdef\"");
        check_name(text);
        check_cursor(text);
        check_tools(text);
        free(text);
        return 0;
}
