import { RequestMalformedError } from '@a2a-js/sdk/errors'

/*
 * HTTP+JSON before 1.0 carries the JSON form of a2a.proto 0.3, JSON-RPC that of its JSON Schema.
 * The library translates the latter; here is what lies between the two. What comes in is taken in
 * both forms.
 */

type Fields = Record<string, unknown>

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const requireObject = (value: unknown, name: string): Fields => {
  if (isObject(value)) return value
  throw new RequestMalformedError(`${name} must be an object`)
}

const omitFields = (fields: Fields, ...names: string[]): Fields =>
  Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !names.includes(name) && value !== undefined),
  )

/** Value of a field in either spelling: JSON's, or that of the .proto file. */
const field = (fields: Fields, name: string): unknown =>
  fields[name] ?? fields[name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)]

const ROLES: Record<string, string> = { ROLE_USER: 'user', ROLE_AGENT: 'agent' }

const partIn = (value: unknown): Fields => {
  const part = requireObject(value, 'a part')
  if (typeof part.kind === 'string') return part
  if (typeof part.text === 'string') return { kind: 'text', text: part.text }
  if (part.data !== undefined)
    return { kind: 'data', data: requireObject(requireObject(part.data, 'data').data, 'data.data') }
  const file = requireObject(part.file, 'a part has neither text nor data: file')
  const mimeType = field(file, 'mimeType')
  const [uri, bytes] = [field(file, 'fileWithUri'), field(file, 'fileWithBytes')]
  const at = uri === undefined ? { bytes } : { uri }
  return { kind: 'file', file: { ...at, ...(mimeType === undefined ? {} : { mimeType }) } }
}

const messageIn = (value: unknown): Fields => {
  const message = requireObject(value, 'message')
  const parts = message.parts ?? message.content
  if (!Array.isArray(parts)) throw new RequestMalformedError('message.content must be a list')
  const id = (name: string) => ({ [name]: field(message, name) ?? undefined })
  return {
    kind: 'message',
    ...omitFields({ ...id('messageId'), ...id('contextId'), ...id('taskId') }),
    role: ROLES[String(message.role)] ?? message.role,
    parts: parts.map(partIn),
    ...(isObject(message.metadata) ? { metadata: message.metadata } : {}),
    ...(Array.isArray(message.extensions) ? { extensions: message.extensions } : {}),
  }
}

/** The body of `message:send` as the params of `message/send`. */
export const sendParamsIn = (body: Fields): Fields => {
  const given = body.configuration
  const configuration = given === undefined ? undefined : requireObject(given, 'configuration')
  const hook =
    configuration &&
    (field(configuration, 'pushNotification') ?? configuration.pushNotificationConfig)
  const length = configuration && field(configuration, 'historyLength')
  return omitFields({
    message: messageIn(body.message ?? body.request),
    metadata: isObject(body.metadata) ? body.metadata : undefined,
    configuration: configuration && {
      ...omitFields(
        { ...configuration, pushNotification: undefined },
        'history_length',
        'push_notification',
      ),
      // the .proto form cannot tell 0 from absent
      ...omitFields({ historyLength: length === 0 ? undefined : length }),
      // an omitted field means non-blocking in the .proto form; the JSON Schema form is read the
      // same way
      blocking: configuration.blocking ?? false,
      ...omitFields({ pushNotificationConfig: hook }),
    },
  })
}

/** The body of `pushNotificationConfigs` as the params of `tasks/pushNotificationConfig/set`. */
export const hookParamsIn = (taskId: string, body: Fields): Fields => {
  const config = isObject(body.config) ? body.config : body
  const hook = field(config, 'pushNotificationConfig') ?? config
  return { taskId, pushNotificationConfig: requireObject(hook, 'pushNotificationConfig') }
}

const STATES: Record<string, string> = {
  canceled: 'TASK_STATE_CANCELLED',
  unknown: 'TASK_STATE_UNSPECIFIED',
}

const stateOut = (state: unknown): string =>
  STATES[String(state)] ?? `TASK_STATE_${String(state).toUpperCase().replaceAll('-', '_')}`

const partOut = (part: Fields): Fields => {
  if (part.kind === 'text') return { text: part.text }
  if (part.kind === 'data') return { data: { data: part.data } }
  const { uri, bytes, mimeType } = part.file as Fields
  const at = uri === undefined ? { fileWithBytes: bytes } : { fileWithUri: uri }
  return { file: omitFields({ ...at, mimeType }) }
}

const messageOut = ({ parts, role, ...message }: Fields): Fields => ({
  ...omitFields(message, 'kind', 'referenceTaskIds'),
  role: role === 'agent' ? 'ROLE_AGENT' : 'ROLE_USER',
  content: (parts as Fields[]).map(partOut),
})

const statusOut = ({ state, message, timestamp }: Fields): Fields =>
  omitFields({
    state: stateOut(state),
    message: message === undefined ? undefined : messageOut(message as Fields),
    timestamp,
  })

const artifactOut = ({ parts, ...artifact }: Fields): Fields => ({
  ...artifact,
  parts: (parts as Fields[]).map(partOut),
})

export const taskOut = ({ status, artifacts, history, ...task }: Fields): Fields =>
  omitFields(
    {
      ...task,
      status: statusOut(status as Fields),
      artifacts: (artifacts as Fields[] | undefined)?.map(artifactOut),
      history: (history as Fields[] | undefined)?.map(messageOut),
    },
    'kind',
  )

/** A result or an event: under its own name, as a oneof is written. */
export const eventOut = (event: Fields): Fields => {
  const rest = omitFields(event, 'kind', 'status', 'artifact')
  if (event.kind === 'message') return { message: messageOut(event) }
  if (event.kind === 'task') return { task: taskOut(event) }
  if (event.kind === 'status-update')
    return { statusUpdate: { ...rest, status: statusOut(event.status as Fields) } }
  return { artifactUpdate: { ...rest, artifact: artifactOut(event.artifact as Fields) } }
}

export const hookOut = ({ taskId, pushNotificationConfig }: Fields): Fields => {
  const { id = '' } = pushNotificationConfig as Fields
  return { name: `tasks/${taskId}/pushNotificationConfigs/${id}`, pushNotificationConfig }
}
