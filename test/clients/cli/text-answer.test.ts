import t from 'tap'
import { answerCall } from '../../../clients/cli/answer-call.ts'
import { TextAnswer } from '../../../clients/cli/api.ts'
import type { OpenSession } from '../../../clients/cli/session.ts'
import { informingOperation } from '../../support/described-operation.ts'

/** Text with control characters, with which a cell could steer a terminal. */
const TEXT = 'up 1\r\n# \u001b]0;title\u0007 \u009b2J\u202eleft\n'

const printAnswer = async (isTerminal: boolean): Promise<string> => {
  let text = ''
  const session = {
    api: { call: async () => new TextAnswer(TEXT, 'text/plain', undefined) },
    progress: { show: () => {}, clear: () => {} },
    settings: { url: 'http://127.0.0.1' },
    format: 'text',
    write: (piece: string) => {
      text += piece
    },
    isTerminal,
  }
  const call = { method: 'GET', path: '/v1/cells/a/metrics' }
  await answerCall(session as unknown as OpenSession, call, informingOperation, false)
  return text
}

t.test('control characters of a text answer do not reach the terminal', async t => {
  t.equal(await printAnswer(true), 'up 1\n# \\u{1b}]0;title\\u{7} \\u{9b}2J\\u{202e}left\n')
})

t.test('a text answer is written unchanged to a file or pipe', async t => {
  t.equal(await printAnswer(false), TEXT)
})
