import t from 'tap'
import type { A2aCall } from '../../../../coordinator/surfaces/a2a/call.ts'
import { sendStream } from '../../../../coordinator/surfaces/a2a/stream.ts'
import { ShoalError } from '../../../../shared/errors.ts'

t.test('a stream whose key ends before its first event releases the task it follows', async t => {
  const over = new AbortController()
  const call = { signal: over.signal } as A2aCall
  const found = Promise.withResolvers<void>()
  const left = Promise.withResolvers<string>()
  async function* source() {
    try {
      await found.promise
      yield 'task'
    } finally {
      left.resolve('left')
    }
  }
  const sent = sendStream({} as never, source(), call, () => ({ value: null }))
  over.abort(new ShoalError('auth_required', 'the key is no longer valid'))
  await t.rejects(sent, { code: 'auth_required' })
  found.resolve()
  t.equal(await left.promise, 'left')
})
