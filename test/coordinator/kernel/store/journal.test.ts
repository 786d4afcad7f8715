import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Journal } from '../../../../coordinator/kernel/store/journal.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { silent } from '../../../support/cell.ts'
import { temporaryFolder } from './temporary.ts'

/** Interval that never ends within a test. */
const NEVER_MS = 2 ** 30

interface Rig {
  folder: string
  journal: Journal<string>
  carried: string[][]
  /** What the next carrying is to do instead of succeeding. */
  fail: (error: Error | undefined) => void
}

const rig = async (t: Test, folder?: string): Promise<Rig> => {
  const place = folder ?? join(await temporaryFolder(t), 'journal')
  const carried: string[][] = []
  let failure: Error | undefined
  const journal = await Journal.open<string>({
    runtime: systemRuntime,
    folder: place,
    carry: async values => {
      if (failure) throw failure
      carried.push(values)
    },
    logger: silent,
    everyMs: NEVER_MS,
  })
  t.teardown(() => journal.close())
  const fail = (error: Error | undefined) => {
    failure = error
  }
  return { folder: place, journal, carried, fail }
}

const files = async (folder: string): Promise<string[]> => (await readdir(folder)).sort()

t.test('the journal', async t => {
  t.test('has a value in its file once it is appended', async t => {
    const { folder, journal } = await rig(t)
    await Promise.all([journal.append('a'), journal.append('b')])
    const [name = ''] = await files(folder)
    t.equal(await readFile(join(folder, name), 'utf8'), '"a"\n"b"\n')
  })

  t.test('transfers everything in one piece and keeps no file of it', async t => {
    const { folder, journal, carried } = await rig(t)
    const appended = ['a', 'b', 'ü'].map(value => journal.append(value))
    await journal.drain()
    await Promise.all(appended)
    t.strictSame(carried, [['a', 'b', 'ü']])
    t.strictSame(await files(folder), [])
    await journal.append('c')
    await journal.drain()
    t.strictSame(carried[1], ['c'])
  })

  t.test('retries a failed transfer and accepts more in the meantime', async t => {
    const { journal, carried, fail } = await rig(t)
    await journal.append('a')
    fail(new Error('the store is away'))
    await t.rejects(journal.drain(), { message: 'the store is away' })
    await journal.append('b')
    fail(undefined)
    await journal.drain()
    t.strictSame(carried.flat(), ['a', 'b'])
  })

  t.test('is drained for two simultaneous callers only when both can see everything', async t => {
    const { journal, carried, fail } = await rig(t)
    await journal.append('a')
    fail(new Error('the store is away'))
    await t.rejects(journal.drain(), { message: 'the store is away' })
    await journal.append('b')
    fail(undefined)
    const drainCarried = async (): Promise<string[]> => {
      await journal.drain()
      return carried.flat()
    }
    t.strictSame(await Promise.all([drainCarried(), drainCarried()]), [
      ['a', 'b'],
      ['a', 'b'],
    ])
  })

  t.test('transfers the remains of a dead process, without its last partial line', async t => {
    const folder = join(await temporaryFolder(t), 'journal')
    await mkdir(folder)
    await writeFile(join(folder, 'seg_2.jsonl'), '"c"\n"cut of')
    await writeFile(join(folder, 'seg_1.jsonl'), '"a"\n"b"\n')
    await writeFile(join(folder, 'notes.txt'), 'not ours')
    const { carried } = await rig(t, folder)
    t.strictSame(carried, [['a', 'b'], ['c']])
    t.strictSame(await files(folder), ['notes.txt'])
  })

  t.test('keeps remains that cannot be transferred at the start', async t => {
    const folder = join(await temporaryFolder(t), 'journal')
    await mkdir(folder)
    await appendFile(join(folder, 'seg_1.jsonl'), '"a"\n')
    const journal = await Journal.open({
      runtime: systemRuntime,
      folder,
      carry: () => Promise.reject(new Error('full')),
      logger: silent,
      everyMs: NEVER_MS,
    })
    await journal.close()
    const { carried } = await rig(t, folder)
    t.strictSame(carried, [['a']])
  })

  t.test('reports that it cannot be written, and recovers when it can', async t => {
    const { folder, journal, carried } = await rig(t)
    const { rename } = await import('node:fs/promises')
    await rename(folder, `${folder}-away`)
    await t.rejects(journal.append('a'), { code: 'store_unavailable' })
    await rename(`${folder}-away`, folder)
    await journal.append('b')
    await journal.drain()
    t.strictSame(carried, [['b']])
  })
})
