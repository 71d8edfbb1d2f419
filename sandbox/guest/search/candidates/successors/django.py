"""Django, from its release notes."""

from __future__ import annotations

from sandbox.guest.search.candidates.successors.notation import Renames, Rewrite, table

RENAMES = Renames(
    modules=table("""
django.core.urlresolvers -> django.urls
django.conf.urls -> django.urls
django.utils.six -> six
django.utils.lru_cache -> functools
django.contrib.staticfiles.templatetags.staticfiles -> django.templatetags.static
django.contrib.postgres.fields.jsonb -> django.db.models
"""),
    names=table("""
django.utils.translation.ugettext -> django.utils.translation.gettext
django.utils.translation.ugettext_lazy -> django.utils.translation.gettext_lazy
django.utils.translation.ungettext -> django.utils.translation.ngettext
django.utils.translation.ungettext_lazy -> django.utils.translation.ngettext_lazy
django.utils.translation.ugettext_noop -> django.utils.translation.gettext_noop
django.utils.encoding.force_text -> django.utils.encoding.force_str
django.utils.encoding.force_unicode -> django.utils.encoding.force_str
django.utils.encoding.smart_text -> django.utils.encoding.smart_str
django.utils.encoding.smart_unicode -> django.utils.encoding.smart_str
django.utils.encoding.python_2_unicode_compatible -> six.python_2_unicode_compatible
django.conf.urls.url -> django.urls.re_path
django.core.urlresolvers.reverse -> django.urls.reverse
django.utils.http.urlquote -> urllib.parse.quote
django.utils.http.urlquote_plus -> urllib.parse.quote_plus
django.utils.http.urlunquote -> urllib.parse.unquote
django.utils.http.is_safe_url -> django.utils.http.url_has_allowed_host_and_scheme
django.utils.timezone.utc -> datetime.timezone.utc
django.utils.timezone.FixedOffset -> datetime.timezone
django.utils.text.unescape_entities -> html.unescape
django.contrib.postgres.fields.JSONField -> django.db.models.JSONField
django.db.models.NullBooleanField -> django.db.models.BooleanField
django.db.models.fields.FieldDoesNotExist -> django.core.exceptions.FieldDoesNotExist
django.shortcuts.render_to_response -> django.shortcuts.render
django.contrib.staticfiles.templatetags.staticfiles.static -> django.templatetags.static.static
django.utils.decorators.available_attrs -> functools.WRAPPER_ASSIGNMENTS
django.utils.functional.curry -> functools.partial
django.utils.lru_cache.lru_cache -> functools.lru_cache
django.contrib.admin.util -> django.contrib.admin.utils
django.db.models.loading.get_model -> django.apps.apps.get_model
django.dispatch.dispatcher.Signal -> django.dispatch.Signal
"""),
    attributes=table("""
assertQuerysetEqual -> assertQuerySetEqual
is_ajax -> accepts
get_query_set -> get_queryset
rel -> remote_field
"""),
    rewrites=(Rewrite("is_ajax", "{value}.headers.get('x-requested-with') == 'XMLHttpRequest'"),),
)
"""Renamed, moved and removed names."""
