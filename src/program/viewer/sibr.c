/* The viewer's listener for SIBR's network viewers. One thread accepts, reads, waits for pictures and sends; as every
 * client's it holds up nobody but its client. */
#include "viewer/sibr.h"

#include "base/clock.h"
#include "viewer/clients.h"
#include "viewer/listening.h"
#include "viewer/sibr_request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDLE_SECONDS 30.0     /* between two requests */
#define TRANSFER_SECONDS 10.0 /* for a request that has begun, and between two parts of an answer */
#define ANSWERS_PER_SECOND 60

struct splat_sibr {
    splat_viewer *viewer;
    pthread_t thread;
    int listening, wake;       /* wake: an eventfd that can be read from the end on */
};

/* The client that is connected. */
typedef struct visitor {
    splat_viewer_client client;
    splat_sibr *sibr;
    int socket;
    bool trained;              /* its last request's `train` */
    splat_sibr_request shown;  /* the last picture, */
    uint8_t *rgb;              /* its bytes; NULL: there was none */
    uint32_t step, n_stages;   /* of the model in it, */
    double made_at;            /* made then */
} visitor;

/* ---------------------------------------------------------------- the connection */

/* The next connection; -1: none. When there is no descriptor for it, a moment passes. */
static int accept_next(const splat_sibr *sibr)
{
    struct pollfd wake = {sibr->wake, POLLIN, 0};
    const int s = accept4(sibr->listening, NULL, NULL, SOCK_CLOEXEC);
    if (s < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) poll(&wake, 1, 100);
    return s;
}

/* Waits until the socket is ready; meanwhile others that connect are sent away. False: the time is over, or all is. */
static bool wait_for(const splat_sibr *sibr, int s, short events, double end)
{
    for (;;) {
        struct pollfd p[3] = {{sibr->wake, POLLIN, 0}, {s, events, 0}, {sibr->listening, POLLIN, 0}};
        const double left = end - splat_clock_seconds();
        const int n = poll(p, 3, left > 0 ? (int)(1000 * left) + 1 : 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0 || p[0].revents) return false;
        if (p[1].revents) return true;
        const int other = accept_next(sibr);
        if (other >= 0) close(other);
    }
}

/* Reads n bytes; the first of them may take `idle` seconds. */
static bool receive(const visitor *v, void *data, size_t n, double idle)
{
    double end = splat_clock_seconds() + idle;
    for (size_t got = 0; got < n;) {
        if (!wait_for(v->sibr, v->socket, POLLIN, end)) return false;
        const ssize_t more = recv(v->socket, (char *)data + got, n - got, MSG_DONTWAIT);
        if (more == 0 || (more < 0 && errno != EAGAIN && errno != EINTR)) return false;
        if (more < 0) continue;
        if (got == 0) end = splat_clock_seconds() + TRANSFER_SECONDS;
        got += (size_t)more;
    }
    return true;
}

static bool send_all(const visitor *v, const void *data, size_t n)
{
    for (size_t sent = 0; sent < n;) {
        if (!wait_for(v->sibr, v->socket, POLLOUT, splat_clock_seconds() + TRANSFER_SECONDS)) return false;
        const ssize_t more = send(v->socket, (const char *)data + sent, n - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (more < 0 && errno != EAGAIN && errno != EINTR) return false;
        if (more > 0) sent += (size_t)more;
    }
    return true;
}

static bool read_request(const visitor *v, splat_sibr_request *request)
{
    uint8_t head[4];
    char text[SPLAT_SIBR_REQUEST_MAX];
    if (!receive(v, head, sizeof head, IDLE_SECONDS)) return false;
    const size_t length = splat_sibr_request_length(head);
    if (length && !receive(v, text, length, TRANSFER_SECONDS)) return false;
    if (length && splat_sibr_request_parse(text, length, request, NULL) == SPLAT_OK) return true;
    splat_viewer_refuse(v->client.viewer, "What came at the port of SIBR's viewers is not of their protocol.");
    return false;
}

/* ---------------------------------------------------------------- the picture */

/* True if the client has gone, or must go. */
static bool is_over(const visitor *v)
{
    struct pollfd p[2] = {{v->sibr->wake, POLLIN, 0}, {v->socket, POLLRDHUP, 0}};
    return poll(p, 2, 0) > 0 && (p[0].revents || p[1].revents);
}

/* True if the last picture is still good: its model is the same, or it is recent. */
static bool is_shown(const visitor *v, const splat_sibr_request *request)
{
    const splat_camera *a = &request->camera, *b = &v->shown.camera;
    splat_viewer *viewer = v->client.viewer;
    if (!v->rgb || request->scaling != v->shown.scaling || memcmp(a, b, sizeof *a) != 0) return false;
    pthread_mutex_lock(&viewer->mutex);
    const bool same = v->step == viewer->step && v->n_stages == viewer->status.n_stages;
    pthread_mutex_unlock(&viewer->mutex);
    return same || splat_clock_seconds() - v->made_at < SPLAT_VIEWER_REFRESH_SECONDS;
}

/* Waits until the picture that was asked for is there, or cannot be made (an image of NULLs). False: all is over. */
static bool wait_for_image(visitor *v, splat_viewer_image *image)
{
    bool over = false;
    splat_viewer_client *client = &v->client;
    splat_viewer *viewer = client->viewer;
    pthread_mutex_lock(&viewer->mutex);
    while (!over && (client->has_wish || (client->in_flight && !client->image.planar && !client->image.rgb))) {
        struct timespec end;
        splat_viewer_deadline(0.2, &end);
        if (pthread_cond_timedwait(&client->changed, &viewer->mutex, &end) == 0) continue;
        pthread_mutex_unlock(&viewer->mutex);
        over = is_over(v);
        pthread_mutex_lock(&viewer->mutex);
    }
    *image = client->image;
    client->image = (splat_viewer_image){0};
    client->in_flight = false;
    v->step = client->step;
    v->n_stages = viewer->status.n_stages;
    pthread_mutex_unlock(&viewer->mutex);
    return !over;
}

/* The bytes of a picture into v->rgb: black where it cannot be made, which was logged. */
static bool make(visitor *v, const splat_sibr_request *request)
{
    splat_viewer_image image;
    const size_t n = 3 * (size_t)request->camera.width * (size_t)request->camera.height;
    splat_viewer_message ask = {.has_wish = true, .wish = {.camera = request->camera, .view = -1}};
    ask.wish.scaling = request->scaling;
    if (!splat_viewer_post(&v->client, &ask) || !wait_for_image(v, &image)) return false;
    free(v->rgb);
    v->rgb = NULL;
    if (image.planar || image.rgb) {
        if (splat_viewer_image_fill(&image)) v->rgb = image.rgb;
        free(image.planar);
    } else {
        v->rgb = calloc(n, 1);
    }
    v->shown = *request;
    v->made_at = splat_clock_seconds();
    return v->rgb != NULL;
}

/* ---------------------------------------------------------------- answers */

/* A pause begins and ends when `train` changes: in between pages have their say. */
static void obey(visitor *v, bool trains)
{
    splat_viewer_message say = {.has_command = true, .command = trains ? SPLAT_VIEWER_GO_ON : SPLAT_VIEWER_PAUSE};
    if (trains != v->trained) splat_viewer_post(&v->client, &say);
    v->trained = trains;
}

static bool answer_path(const visitor *v)
{
    splat_viewer *viewer = v->client.viewer;
    pthread_mutex_lock(&viewer->mutex);
    char *path = strdup(viewer->scene_path ? viewer->scene_path : "");
    pthread_mutex_unlock(&viewer->mutex);
    const size_t n = path ? strlen(path) : 0;
    const uint8_t head[4] = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24)};
    const bool good = path && send_all(v, head, sizeof head) && send_all(v, path, n);
    free(path);
    return good;
}

static bool answer(visitor *v, const splat_sibr_request *request)
{
    obey(v, request->trains);
    if (request->has_picture) {
        const size_t n = 3 * (size_t)request->camera.width * (size_t)request->camera.height;
        if (!is_shown(v, request) && !make(v, request)) return false;
        if (!send_all(v, v->rgb, n)) return false;
    }
    return answer_path(v);
}

/* A pause that the client began goes with it. */
static void leave(visitor *v)
{
    splat_viewer *viewer = v->client.viewer;
    pthread_mutex_lock(&viewer->mutex);
    const bool holds = viewer->status.is_paused && viewer->paused_by == v->client.number;
    pthread_mutex_unlock(&viewer->mutex);
    if (holds) obey(v, true);
    splat_viewer_leave(&v->client);
    splat_viewer_forget(&v->client);
    free(v->rgb);
}

static void serve(splat_sibr *sibr, int s)
{
    visitor v = {.sibr = sibr, .socket = s, .trained = true};
    splat_sibr_request request;
    const int on = 1;
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!splat_viewer_join(sibr->viewer, &v.client)) return;
    for (double next = 0; read_request(&v, &request) && answer(&v, &request);) {
        const double now = splat_clock_seconds();
        if (now < next) wait_for(sibr, -1, 0, next);
        next = fmax(now, next) + 1.0 / ANSWERS_PER_SECOND;
    }
    leave(&v);
}

static void *listen_on(void *user)
{
    splat_sibr *sibr = user;
    for (;;) {
        struct pollfd p[2] = {{sibr->wake, POLLIN, 0}, {sibr->listening, POLLIN, 0}};
        if (poll(p, 2, -1) < 0 && errno != EINTR) break;
        if (p[0].revents) break;
        const int s = accept_next(sibr);
        if (s < 0) continue;
        serve(sibr, s);
        close(s);
    }
    return NULL;
}

/* ---------------------------------------------------------------- start and stop */

static int port_of(int s)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    socklen_t size = sizeof address;
    if (getsockname(s, &address.any, &size) != 0) return -1;
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

/* At the first of n_ports ports that is not busy. */
static splat_status listen_at(splat_sibr *sibr, const char *host, int port, int n_ports, splat_error *error)
{
    for (int i = 0; i < n_ports && port + i <= 65535; i++) {
        sibr->listening = splat_viewer_listen(host, port + i);
        if (sibr->listening >= 0) return SPLAT_OK;
        if (errno != EADDRINUSE) break;
    }
    if (errno == EINVAL)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`sibr_host` takes an address in numbers, such as 127.0.0.1 or 0.0.0.0, not '%.60s'", host);
    return splat_fail(error, SPLAT_ERROR_IO,
                      "cannot listen for SIBR's viewers at %s, port %d: %s (choose another with `sibr`)", host, port,
                      strerror(errno));
}

static void give_back(splat_sibr *sibr)
{
    if (sibr->listening >= 0) close(sibr->listening);
    if (sibr->wake >= 0) close(sibr->wake);
    free(sibr);
}

splat_status splat_sibr_start(splat_viewer *viewer, const char *host, int port, int n_ports, splat_error *error)
{
    splat_sibr *sibr = malloc(sizeof *sibr);
    if (!sibr) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a viewer");
    *sibr = (splat_sibr){.viewer = viewer, .listening = -1, .wake = eventfd(0, EFD_CLOEXEC)};
    splat_status status = sibr->wake >= 0 ? listen_at(sibr, host ? host : "127.0.0.1", port, n_ports, error)
                                          : splat_fail(error, SPLAT_ERROR_IO, "no descriptor for a viewer");
    if (status == SPLAT_OK) {
        viewer->sibr_port = port_of(sibr->listening);
        if (pthread_create(&sibr->thread, NULL, listen_on, sibr) != 0)
            status = splat_fail(error, SPLAT_ERROR_MEMORY, "the system gives no thread to a viewer");
    }
    if (status == SPLAT_OK)
        viewer->sibr = sibr;
    else
        give_back(sibr);
    return status;
}

void splat_sibr_stop(splat_viewer *viewer)
{
    splat_sibr *sibr = viewer->sibr;
    if (!sibr) return;
    eventfd_write(sibr->wake, 1);
    pthread_join(sibr->thread, NULL);
    give_back(sibr);
    viewer->sibr = NULL;
}
