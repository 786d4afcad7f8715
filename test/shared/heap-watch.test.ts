import t from 'tap'
import { watchHeap } from '../../shared/heap-watch.ts'
import { waitUntil } from '../support/wait-until.ts'

t.test('a heap that is nearly full is reported once each time', async t => {
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  let [used_heap_size, looks] = [899, 0]
  const told: unknown[] = []
  watchHeap({
    logger: { error: (about: unknown) => void told.push(about) },
    signal: stop.signal,
    readHeap: () => {
      looks++
      return { used_heap_size: used_heap_size * 2 ** 20, heap_size_limit: 1000 * 2 ** 20 }
    },
    everyMs: 1,
  })
  const lookThrice = async (): Promise<void> => {
    const before = looks
    await waitUntil('the heap is looked at', () => looks > before + 3)
  }
  await lookThrice()
  t.strictSame(told, [])
  used_heap_size = 901
  await lookThrice()
  t.strictSame(told, [{ used_mib: 901, limit_mib: 1000 }])
  used_heap_size = 500
  await lookThrice()
  used_heap_size = 950
  await lookThrice()
  t.equal(told.length, 2)
})
