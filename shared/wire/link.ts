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

/** On an upgrade: it is only tried whether it would work; the connection is closed after it. */
export const HEADER_PROBE = 'x-shoal-probe'
/** On an upgrade: an id that the daemon makes at every start and never writes down. */
export const HEADER_BOOT_ID = 'x-shoal-boot-id'

/** Request headers the coordinator adds on the link. */
export const HEADER_REQUEST_ID = 'x-request-id'
/**
 * On a request: the tier's upper bound of generated tokens. On an answer: the bound that was
 * applied, sent only when the caller asked for more.
 */
export const HEADER_MAX_TOKENS = 'x-shoal-max-tokens'
/** On an answer of a cell: tokens of the prompt, for streams whose usage trailer never comes. */
export const HEADER_PROMPT_TOKENS = 'x-shoal-prompt-tokens'
/** On an answer to a client: the cell that served it. */
export const HEADER_CELL = 'x-shoal-cell'
/**
 * Trailer of every completed inference answer: JSON of `Usage`. A stream without it did not end
 * well, however it was closed.
 */
export const TRAILER_USAGE = 'x-shoal-usage'
