"""Sphinx's settings of the site; scripts/site.sh calls it with the pages that stage.py has laid out."""
import glob, os, re
project = 'Splatsmith'
author = 'the Splatsmith contributors'
extensions = ['myst_parser']
myst_enable_extensions = ['deflist']
myst_heading_anchors = 6
root_doc = 'index'
highlight_language = 'none'
smartquotes = False
html_theme = 'furo'
html_title = 'Splatsmith'
html_static_path = ['_static']
html_css_files = ['site.css']
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    'light_css_variables': {'color-brand-primary': '#9a4a12', 'color-brand-content': '#9a4a12'},
    'dark_css_variables': {'color-brand-primary': '#f0a060', 'color-brand-content': '#f0a060'},
}
pygments_style = 'friendly'
pygments_dark_style = 'native'


def take_imports_in(app, error):
    """Debian's furo imports normalize.css from /javascript/, which only Debian's Apache serves: its text replaces the import."""
    def text_of(match):
        with open('/usr/share/javascript/' + match.group(1), encoding='utf-8') as file:
            return file.read()

    for path in [] if error else glob.glob(os.path.join(app.outdir, '_static', 'styles', '*.css')):
        with open(path, encoding='utf-8') as file:
            text = file.read()
        whole = re.sub(r'@import url\("?/javascript/([\w./-]+)"?\);', text_of, text)
        if whole != text:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(whole)


def setup(app):
    app.connect('build-finished', take_imports_in)
