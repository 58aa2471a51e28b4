"""Sphinx's settings of the site; scripts/site.sh calls it with the pages that stage.py has laid out."""
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
