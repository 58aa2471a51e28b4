/* In place of the script of furo, which as Debian packages it is a module that browsers do not load as a script, or from
 * a file: the switch between light and dark, and the heading that the contents next to the page mark. */
'use strict';

function nextTheme() {
    const light = matchMedia('(prefers-color-scheme: light)').matches;
    const order = light ? ['auto', 'dark', 'light'] : ['auto', 'light', 'dark'];
    return order[(order.indexOf(document.body.dataset.theme) + 1) % order.length];
}

function switchTheme() {
    const theme = nextTheme();
    document.body.dataset.theme = theme;
    try {
        localStorage.setItem('theme', theme);
    } catch (error) {
        /* of pages that may not store: until the next one */
    }
}

function followHeadings() {
    const links = [...document.querySelectorAll('.toc-tree a[href^="#"]')].filter(link => link.hash.length > 1);
    const places = links.map(link => document.getElementById(decodeURIComponent(link.hash.slice(1))));
    let current = null;
    function mark() {
        let now = -1;
        places.forEach((place, i) => {
            if (place && place.getBoundingClientRect().top < 100) now = i;
        });
        if (current === links[now]) return;
        if (current) current.parentElement.classList.remove('scroll-current');
        current = links[now];
        if (current) {
            current.parentElement.classList.add('scroll-current');
            const box = document.querySelector('.toc-scroll'), at = current.offsetTop;
            if (box && (at < box.scrollTop || at > box.scrollTop + box.clientHeight - 60)) box.scrollTop = at - 80;
        }
    }
    addEventListener('scroll', mark, {passive: true});
    mark();
}

document.addEventListener('DOMContentLoaded', () => {
    document.documentElement.classList.remove('no-js');
    document.body.classList.remove('no-js');
    for (const button of document.getElementsByClassName('theme-toggle')) button.addEventListener('click', switchTheme);
    followHeadings();
});
