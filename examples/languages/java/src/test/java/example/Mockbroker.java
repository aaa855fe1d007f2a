package example;

import mockbroker.admin.StateApi;
import mockbroker.admin.http.ApiClient;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.images.builder.Transferable;

/**
 * One broker for all tests, reset before each: a container, or what runs already at MOCKBROKER_BOOTSTRAP and
 * MOCKBROKER_ADMIN, so that the same tests run beside a process.
 */
public final class Mockbroker implements BeforeEachCallback {
    private static final int OUTSIDE = 29092;
    private static final int ADMIN = 9644;
    private static final String TOKEN = "of-a-test";
    private static final String ADVERTISED = "/tmp/mockbroker.advertised";

    private static String bootstrap = System.getenv("MOCKBROKER_BOOTSTRAP");
    private static String admin = System.getenv("MOCKBROKER_ADMIN");

    @Override
    public void beforeEach(ExtensionContext context) throws Exception {
        synchronized (Mockbroker.class) {
            if (bootstrap == null) {
                startContainer();
            }
        }
        new StateApi(client()).resetBroker();
    }

    public String bootstrapServers() {
        return bootstrap;
    }

    /** For each of the generated APIs: {@code new RecordsApi(broker.client())}. */
    public ApiClient client() {
        ApiClient client = new ApiClient();
        client.updateBaseUri(admin);
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + TOKEN));
        return client;
    }

    private static void startContainer() {
        // Clients are told the port that the engine gave, which is known once the container runs.
        String serve = "until [ -s " + ADVERTISED + " ]; do sleep 0.02; done; "
                + "export MOCKBROKER_ADVERTISED_LISTENER=\"$(cat " + ADVERTISED + ")\"; exec mockbroker serve";
        GenericContainer<?> container = new GenericContainer<>("mockbroker:latest")
                .withEnv("MOCKBROKER_LISTENER", "OUTSIDE://:" + OUTSIDE)
                .withEnv("MOCKBROKER_TOPIC", "orders:3,invoices:1")
                .withEnv("MOCKBROKER_ADMIN_PORT", String.valueOf(ADMIN))
                .withEnv("MOCKBROKER_ADMIN_HOST", "0.0.0.0")
                .withEnv("MOCKBROKER_ADMIN_TOKEN", TOKEN)
                .withExposedPorts(OUTSIDE, ADMIN)
                .withCreateContainerCmdModifier(command -> command.withEntrypoint("sh", "-c", serve))
                .waitingFor(Wait.forSuccessfulCommand("true"));
        container.start();
        bootstrap = container.getHost() + ":" + container.getMappedPort(OUTSIDE);
        admin = "http://" + container.getHost() + ":" + container.getMappedPort(ADMIN);
        container.copyFileToContainer(Transferable.of("OUTSIDE://" + bootstrap), ADVERTISED);
        Wait.forHttp("/health/ready").forPort(ADMIN).waitUntilReady(container);
    }
}
