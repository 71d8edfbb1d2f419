from django import forms

from shop.models import Voucher


class CheckoutForm(forms.Form):
    email = forms.EmailField()
    voucher = forms.CharField(required=False)

    def clean_email(self):
        return self.cleaned_data["email"].lower()

    def clean_voucher(self):
        code = self.cleaned_data["voucher"].strip().upper()
        if not code:
            return None
        try:
            return Voucher.objects.get(code=code)
        except Voucher.DoesNotExist:
            raise forms.ValidationError("no such voucher") from None
