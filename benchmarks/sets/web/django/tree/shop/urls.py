from django.urls import path

from shop import views

urlpatterns = [
    path("products/", views.products),
    path("basket/", views.basket),
    path("basket/add/", views.add),
    path("checkout/", views.checkout),
    path("orders/<str:email>/", views.orders),
]
