/**
 * The two upgrades that a cell requests on the coordinator's HTTP port. Both carry `Authorization:
 * Basic base64(cell id:credential)`.
 */
export const LINK_PATH = '/cells/link'
export const LINK_PROTOCOL = 'shoal-link/1'
export const MQTT_PATH = '/cells/mqtt'
export const MQTT_PROTOCOL = 'mqtt'

/** Path where a daemon exchanges its one-time join token for an id and a credential. */
export const ENROL_PATH = '/v1/cells/enrol'

/** Path of a cell's requests about itself, with the same Authorization as the upgrades. */
export const SELF_PATH = '/v1/cells/:cell_id/self'
export const CREDENTIAL_PATH = '/v1/cells/:cell_id/credential'
export const LEAVE_PATH = '/v1/cells/:cell_id/leave'

export const pathOfCell = (path: string, cellId: string): string => path.replace(':cell_id', cellId)

/**
 * Marks an upgrade or a request to `self` as a trial; a trial connection is closed after the
 * upgrade.
 */
export const HEADER_PROBE = 'x-shoal-probe'
/** Boot id, on every request of a cell: created at each daemon start and never stored. */
export const HEADER_BOOT_ID = 'x-shoal-boot-id'

/**
 * Id of the coordinator that answers, on the 101 of both upgrades and on a 409. An older
 * coordinator sends none.
 */
export const HEADER_REPLICA = 'x-shoal-replica'
/**
 * Capability level of the coordinator, on the 101 of both upgrades and on questions with a body;
 * see `capability.ts`. An older coordinator sends none.
 */
export const HEADER_CAPABILITY = 'x-shoal-capability'
/**
 * Ids of the coordinators to which this plane of the cell is connected already, on an upgrade; see
 * `replicas.ts`. One of them answers 409 `conflict`.
 */
export const HEADER_LINKED = 'x-shoal-linked'

/** Path of a cell's Prometheus metrics, on the link and on its own loopback. */
export const CELL_METRICS_PATH = '/metrics'

/** Request headers the coordinator adds on the link. */
export const HEADER_REQUEST_ID = 'x-request-id'
/**
 * Limit of generated tokens. A request carries the tier's upper bound; an answer carries the bound
 * applied, only when the client asked for more.
 */
export const HEADER_MAX_TOKENS = 'x-shoal-max-tokens'
/**
 * Number of tokens to hold back at the start of a chat answer, set only by the coordinator; an
 * answer that is shorter or not streamed is held back entirely. The answer then carries
 * `HEADER_CONFIDENCE`. Ignored outside the link.
 */
export const HEADER_JUDGE = 'x-shoal-judge'
/**
 * Mean natural log-probability of the tokens held back for the first choice. Absent when the answer
 * has no token.
 */
export const HEADER_CONFIDENCE = 'x-shoal-confidence'
/** Prompt tokens, on the answer of a cell, for streams whose usage trailer never arrives. */
export const HEADER_PROMPT_TOKENS = 'x-shoal-prompt-tokens'
/** Cell that served the request, on the answer to a client. */
export const HEADER_CELL = 'x-shoal-cell'
/**
 * Trailer of every completed inference answer: JSON of `Usage`. A stream without it did not
 * complete, however it was closed.
 */
export const TRAILER_USAGE = 'x-shoal-usage'
/**
 * Models tried for a request for `auto`, in order, with the confidence of those that were judged.
 * The last one answered.
 */
export const HEADER_CASCADE = 'x-shoal-cascade'
/**
 * JSON of `Usage` at the time the head of a judged stream was sent. The trailer never arrives when
 * the coordinator declines the answer.
 */
export const HEADER_USAGE_SO_FAR = 'x-shoal-usage-so-far'
