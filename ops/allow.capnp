# Networks that the relay may connect to, whatever name leads there: callbacks, upstreams, billing. "public" keeps it away
# from the addresses of your own networks. To let it call a service in them, add the address of the service:
#   ["public", "10.0.0.5/32"]
const networks :List(Text) = ["public"];
