"""A proxy of RocketMQ that takes messages: prints its address, then the key of each that it takes.
Every third one is refused once."""
from concurrent import futures

import grpc
from rocketmq.grpc_protocol import definition_pb2 as d, service_pb2 as s, service_pb2_grpc as g

OK = d.Status(code=d.OK)
address = d.Endpoints(scheme=d.IPv4)


class Proxy(g.MessagingServiceServicer):
    asked = 0

    def QueryRoute(self, request, context):
        broker = d.Broker(name="broker", id=0, endpoints=address)
        queue = d.MessageQueue(topic=request.topic, id=0, permission=d.READ_WRITE, broker=broker,
                               accept_message_types=[d.NORMAL])
        return s.QueryRouteResponse(status=OK, message_queues=[queue])

    def Telemetry(self, requests, context):
        for request in requests:
            yield s.TelemetryCommand(status=OK, settings=request.settings)

    def Heartbeat(self, request, context):
        return s.HeartbeatResponse(status=OK)

    def NotifyClientTermination(self, request, context):
        return s.NotifyClientTerminationResponse(status=OK)

    def SendMessage(self, request, context):
        self.asked += 1
        if self.asked % 3 == 0:
            context.abort(grpc.StatusCode.UNAVAILABLE, "not now")
        for message in request.messages:
            print(*message.system_properties.keys, flush=True)
        entry = s.SendResultEntry(status=OK, message_id=str(self.asked))
        return s.SendMessageResponse(status=OK, entries=[entry])


server = grpc.server(futures.ThreadPoolExecutor(8))
port = server.add_insecure_port("127.0.0.1:0")
address.addresses.add(host="127.0.0.1", port=port)
g.add_MessagingServiceServicer_to_server(Proxy(), server)
server.start()
print(f"127.0.0.1:{port}", flush=True)
server.wait_for_termination()
