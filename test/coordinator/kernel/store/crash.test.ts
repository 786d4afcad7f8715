import { execFileSync, spawn } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { createAudit } from '../../../../coordinator/kernel/audit/audit.ts'
import { verifyAudit } from '../../../../coordinator/kernel/audit/verify.ts'
import { Journal } from '../../../../coordinator/kernel/store/journal.ts'
import { openStore } from '../../../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { silent } from '../../../support/cell.ts'
import { notInFiles, temporaryFolder, temporaryStore } from './temporary.ts'

/** Lets a child write until it has acknowledged so many rows, then kills it. */
const killedWriter = async (folder: string, name: string, rows: number): Promise<string[]> => {
  const script = join(import.meta.dirname, 'writing-child.ts')
  const child = spawn(process.execPath, [script, folder, name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise(resolve => child.once('exit', resolve))
  const acknowledged: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.push(line)
    if (acknowledged.length === rows) child.kill('SIGKILL')
  }
  await ended
  return acknowledged
}

t.test(
  'a process that is killed while it writes loses nothing it acknowledged',
  { skip: notInFiles },
  async t => {
    const folder = await temporaryFolder(t)
    const acknowledged: string[] = []
    for (const name of ['first', 'second', 'third'])
      acknowledged.push(...(await killedWriter(folder, name, 200)))
    const store = await temporaryStore(t, folder)
    const audited = await store.ledger.read.selectFrom('audit').select('subject').execute()
    const used = await store.records.read.selectFrom('usage').select('request_id').execute()
    const kept = new Set([
      ...audited.map(row => `audit ${row.subject}`),
      ...used.map(row => `usage ${row.request_id}`),
    ])
    t.ok(acknowledged.length >= 600)
    t.strictSame(
      acknowledged.filter(line => !kept.has(line)),
      [],
    )
    t.match(await verifyAudit(store.ledger), { ok: true, rows: audited.length })
  },
)

/** Mounts a disk of 2 MiB; answers why not where that is not allowed. */
const mountSmallDisk = (folder: string): string | undefined => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder], { stdio: 'pipe' })
    return undefined
  } catch {
    return 'a small disk can be mounted only by root'
  }
}

const folder = await temporaryFolder(t)
const reason = notInFiles || mountSmallDisk(folder)

t.test('a full disk loses no acknowledged write', { skip: reason ?? false }, async t => {
  const store = await openStore(join(folder, 'state'), { pollMilliseconds: 0 })
  t.teardown(async () => {
    await store.close()
    execFileSync('umount', [folder])
  })
  const audit = createAudit(store)
  const entry = { actor: 'a', at: 1, action: 'test', subject: 's', outcome: 'done' as const }
  await audit.append(entry)
  await writeFile(join(folder, 'ballast'), Buffer.alloc(4 << 20)).catch(() => {})

  let written = 1
  const fill = async (): Promise<unknown> => {
    for (;;) {
      await audit.append({ ...entry, details: { filler: 'x'.repeat(2000) } })
      written++
    }
  }
  await t.rejects(fill(), { code: 'store_unavailable' }, 'writes say so')
  const { length } = await store.ledger.read.selectFrom('audit').select('seq').execute()
  t.equal(length, written, 'reads go on, and what was acknowledged is there')

  const carried: string[] = []
  const journal = await Journal.open<string>({
    runtime: systemRuntime,
    folder: join(folder, 'journal'),
    carry: async values => void carried.push(...values),
    logger: silent,
    everyMs: 2 ** 30,
  })
  const appended: string[] = []
  const append = async (value: string): Promise<void> => {
    await journal.append(value)
    appended.push(value)
  }
  const fillJournal = async (): Promise<unknown> => {
    for (let n = 0; ; n++) await append(`${n}${'x'.repeat(3000)}`)
  }
  await t.rejects(fillJournal(), { code: 'store_unavailable' }, 'so does the journal')

  await rm(join(folder, 'ballast'))
  await append('after')
  await journal.close()
  t.strictSame(
    appended.filter(value => !carried.includes(value)),
    [],
    'the journal lost nothing it acknowledged, also behind a line that was cut off',
  )
  await audit.append(entry)
  t.match(
    await verifyAudit(store.ledger),
    { ok: true, rows: written + 1 },
    'writes go on without a restart',
  )
})
