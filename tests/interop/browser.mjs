// A page in a headless Chromium, for tests: it asks for its jobs, and posts what it has found.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

// The path of the Chromium that run.sh has found, or nothing.
export function findBrowser() {
    return process.env.SPLATSMITH_BROWSER;
}

function sendFile(response, path) {
    const types = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.png': 'image/png' };
    if (path.includes('..') || !existsSync(path)) {
        response.writeHead(404).end();
        return;
    }
    response.writeHead(200, { 'Content-Type': types[path.slice(path.lastIndexOf('.'))] ?? 'application/octet-stream' });
    response.end(readFileSync(path));
}

// The browser may be a script that has started another process: the whole group, which `detached` has made, ends.
function stop(child) {
    if (!child?.pid) return;
    try {
        process.kill(-child.pid, 'SIGKILL');
    } catch (error) {
        if (error.code !== 'ESRCH') throw error;
    }
}

// Serves the page (beside this file), starts the browser on it, and resolves to what the page posts, or to {skip} when
// the browser does not start. The page finds its jobs as JSON at /jobs, what lies in `folder` below /files/, npm's
// packages below /packages/.
export function runPage(browser, page, jobs, folder, seconds) {
    return new Promise((resolve, reject) => {
        let asked = false, child;
        const finish = (value, error) => {
            clearTimeout(timer);
            stop(child);
            server.close();
            server.closeAllConnections();
            if (error) reject(error); else resolve(value);
        };
        const server = createServer((request, response) => {
            const url = decodeURIComponent(request.url);
            asked = true;
            if (request.method === 'POST') {
                const parts = [];
                request.on('data', (part) => parts.push(part));
                request.on('end', () => {
                    response.end();
                    finish(JSON.parse(Buffer.concat(parts)));
                });
            } else if (url === '/') sendFile(response, join(here, page));
            else if (url === '/jobs') response.end(JSON.stringify(jobs));
            else if (url.startsWith('/packages/')) sendFile(response, join(folder, 'node_modules', url.slice(10)));
            else if (url.startsWith('/files/')) sendFile(response, join(folder, url.slice(7)));
            else response.writeHead(404).end();
        });
        const timer = setTimeout(() => finish(asked ? null : { skip: `${browser} does not start` },
            asked && new Error(`the page has said nothing for ${seconds} seconds`)), 1000 * seconds);
        server.listen(0, '127.0.0.1', () => {
            const profile = join(folder, 'browser');
            rmSync(profile, { recursive: true, force: true });
            child = spawn(browser, ['--headless', '--no-sandbox', '--hide-scrollbars', '--no-first-run',
                '--disable-background-networking', '--disable-component-update', '--disable-sync', '--use-gl=angle',
                '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--remote-debugging-port=0',
                `--user-data-dir=${profile}`, `http://127.0.0.1:${server.address().port}/`],
                { stdio: 'ignore', detached: true });
            child.on('error', (error) => finish({ skip: `${browser} does not start (${error.message})` }));
        });
    });
}
