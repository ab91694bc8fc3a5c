/* What a person sees; see banner.h. */
#include "api/banner.h"

#include <stdio.h>
#include <string.h>

#include "base/config.h"

/* "0.0.0.0:8080" is where it listens, not where it can be called. */
static void print_callable(const char *address) {
        const char *port = strrchr(address, ':');
        if (strncmp(address, "0.0.0.0:", 8) == 0)
                printf("127.0.0.1%s", port);
        else if (strncmp(address, "[::]:", 5) == 0)
                printf("[::1]%s", port);
        else
                printf("%s", address);
}

void banner_print(const struct config *config, const char *address, bool key_given) {
        printf("Code Sandbox serves http://");
        print_callable(address);
        if (key_given)
                printf("\nThe admin key is the value of SANDBOX_ADMIN_KEY.");
        if (config_console(config) != CONSOLE_OFF) {
                printf("\nConsole: http://");
                print_callable(address);
                printf("/console/");
        }
        printf("\nTry it:\n  curl -H \"Authorization: Bearer ");
        if (key_given)
                printf("$SANDBOX_ADMIN_KEY");
        else
                printf("$(cat '%s/" CONFIG_ADMIN_KEY_FILE "')", config->data_dir);
        printf("\" --json '{\"code\": \"print(6 * 7)\"}' http://");
        print_callable(address);
        printf("/v1/execute\n");
        fflush(stdout);
}
