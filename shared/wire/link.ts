/**
 * The two upgrades a cell asks for on the coordinator's HTTP port. Both carry
 * `Authorization: Basic base64(cell id:credential)`.
 */
export const LINK_PATH = '/cells/link'
export const LINK_PROTOCOL = 'shoal-link/1'
export const MQTT_PATH = '/cells/mqtt'
export const MQTT_PROTOCOL = 'mqtt'

/** Where a daemon exchanges its one-time join token for an id and a credential. */
export const ENROL_PATH = '/v1/cells/enrol'

/** What a cell asks for itself, with the same Authorization as the upgrades. */
export const SELF_PATH = '/v1/cells/:cell_id/self'
export const CREDENTIAL_PATH = '/v1/cells/:cell_id/credential'
export const LEAVE_PATH = '/v1/cells/:cell_id/leave'

export const pathOfCell = (path: string, cellId: string): string => path.replace(':cell_id', cellId)

/** On an upgrade or a look at `self`: it is only tried; an upgraded connection is closed after it. */
export const HEADER_PROBE = 'x-shoal-probe'
/** On all that a cell asks: an id that the daemon makes at every start and never writes down. */
export const HEADER_BOOT_ID = 'x-shoal-boot-id'

/** What a cell tells of itself in the words of Prometheus: on the link, and on its own loopback. */
export const CELL_METRICS_PATH = '/metrics'

/** Request headers the coordinator adds on the link. */
export const HEADER_REQUEST_ID = 'x-request-id'
/**
 * On a request: the tier's upper bound of generated tokens. On an answer: the bound that was
 * applied, sent only when the caller asked for more.
 */
export const HEADER_MAX_TOKENS = 'x-shoal-max-tokens'
/**
 * On a request for a chat completion, from the coordinator only: so many tokens at the start of the
 * answer are held back, and all of it when it is shorter or not streamed. The answer then carries
 * `HEADER_CONFIDENCE`. On any other way to a cell it is ignored.
 */
export const HEADER_JUDGE = 'x-shoal-judge'
/**
 * On an answer to such a request: the mean natural log-probability of the tokens that were held
 * back, of the first choice. Absent when the answer has no token.
 */
export const HEADER_CONFIDENCE = 'x-shoal-confidence'
/** On an answer of a cell: tokens of the prompt, for streams whose usage trailer never comes. */
export const HEADER_PROMPT_TOKENS = 'x-shoal-prompt-tokens'
/** On an answer to a client: the cell that served it. */
export const HEADER_CELL = 'x-shoal-cell'
/**
 * Trailer of every completed inference answer: JSON of `Usage`. A stream without it did not end
 * well, however it was closed.
 */
export const TRAILER_USAGE = 'x-shoal-usage'
/**
 * On an answer to a client that asked for `auto`: the models that were asked, in that order, with
 * the confidence of those that were judged. The last one has answered.
 */
export const HEADER_CASCADE = 'x-shoal-cascade'
/**
 * On a judged stream: JSON of `Usage` until its head was sent. The trailer never comes when the
 * coordinator declines the answer.
 */
export const HEADER_USAGE_SO_FAR = 'x-shoal-usage-so-far'
