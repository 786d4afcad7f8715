import { setTimeout } from 'node:timers/promises'
import {
  agentMessage,
  artifactOf,
  dataPart,
  textPart,
} from '../../coordinator/calls/tasks/parts.ts'
import type { Part } from '../../coordinator/calls/tasks/task.ts'
import type { Opening, StatusMore, Turn, TurnWork } from '../../coordinator/calls/tasks/turn.ts'
import type {
  Executor,
  ExecutorAnswer,
  ExecutorRequest,
} from '../../coordinator/surfaces/a2a/executor.ts'

/**
 * What the public A2A kits expect of an agent under test: the beginning of the messageId says how a
 * turn goes. It takes the place of the skills; everything around it is the product's.
 */
export const fixtureExecutor: Executor = incoming => {
  const { messageId } = incoming.message
  if (messageId.startsWith('tck-message-response')) return answerWithMessage(incoming)
  const run = { operationId: undefined, input: {}, cellId: undefined, audited: false }
  return { kind: 'task', run, opening: openingFor(messageId) }
}

const answerWithMessage = ({ message }: ExecutorRequest): ExecutorAnswer => ({
  kind: 'message',
  message: agentMessage('', message.contextId ?? '', [textPart('Direct message response')]),
})

const complete = (turn: Turn): void => turn.status('completed')

const createOpening = (work: TurnWork): Opening => ({ state: 'working', work })

const withArtifact = (part: Part): Opening =>
  createOpening(async turn => {
    turn.artifact(artifactOf('result', [part]))
    complete(turn)
  })

const fileBytes: Part = {
  raw: Buffer.from('file content').toString('base64'),
  filename: 'output.txt',
  mediaType: 'text/plain',
}
const fileUrl: Part = {
  url: 'https://example.com/output.txt',
  filename: 'output.txt',
  mediaType: 'text/plain',
}

const step = (number: number): StatusMore => ({ parts: [textPart(`step ${number}`)] })

const steps = (count: number): Opening => ({
  state: 'working',
  more: step(1),
  work: async turn => {
    for (let next = 2; next <= count; next++) turn.status('working', step(next))
    complete(turn)
  },
})

const chunks = createOpening(async turn => {
  const { artifactId } = artifactOf('chunked', [])
  for (const at of [0, 1, 2]) {
    const artifact = { ...artifactOf('chunked', [textPart(`chunk ${at}`)]), artifactId }
    turn.artifact(artifact, { append: at > 0, lastChunk: at === 2 })
  }
  complete(turn)
})

const ask: Opening = {
  state: 'input-required',
  more: { parts: [textPart('more input is needed')], run: { waits: 'input' } },
}

/** Long enough for a client to leave and to come back. */
const RESUBSCRIBE_MS = 4000

const linger = createOpening(async turn => {
  await setTimeout(RESUBSCRIBE_MS, undefined, { signal: turn.signal }).catch(() => {})
  complete(turn)
})

const OPENINGS: readonly [prefix: string, opening: Opening][] = [
  ['tck-artifact-text', withArtifact(textPart('Generated text content'))],
  ['tck-artifact-file-url', withArtifact(fileUrl)],
  ['tck-artifact-file', withArtifact(fileBytes)],
  ['tck-artifact-data', withArtifact(dataPart({ key: 'value', count: 42 }))],
  ['tck-complete-task', steps(1)],
  ['tck-reject-task', { state: 'rejected' }],
  ['tck-stream-artifact-text', withArtifact(textPart('Streamed text content'))],
  ['tck-stream-artifact-file', withArtifact(fileBytes)],
  ['tck-stream-artifact-chunked', chunks],
  ['tck-stream-ordering-001', steps(5)],
  ['tck-stream-', steps(2)],
  ['test-resubscribe-message-id', linger],
]

/**
 * Opening of a task. Without a prefix the agent asks back: such a task can be gone on with, looked
 * at and cancelled. So it does for `tck-input-required`, also in a task that waits, until a message
 * completes it.
 */
const openingFor = (messageId: string): Opening =>
  OPENINGS.find(([prefix]) => messageId.startsWith(prefix))?.[1] ?? ask
