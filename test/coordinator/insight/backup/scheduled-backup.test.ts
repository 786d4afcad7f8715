import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import t from 'tap'
import {
  type Backup,
  listBackups,
  listSurplus,
} from '../../../../coordinator/insight/backup/backup-catalogue.ts'
import { BackupSettings } from '../../../../coordinator/insight/backup/backup-settings.ts'
import { createBackup } from '../../../../coordinator/insight/backup/create-backup.ts'
import { makeScheduled } from '../../../../coordinator/insight/backup/make-scheduled.ts'
import { SCHEDULED_BACKUP } from '../../../../coordinator/insight/backup/scheduled-backup.ts'
import { backupRig, NOW, PASSPHRASE, sealLightly } from '../../../support/backup-rig.ts'
import { startCoordinators } from '../../../support/coordinators.ts'
import { postgresMissing } from '../../../support/postgres.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { notInFiles, temporaryFolder } from '../../kernel/store/temporary.ts'

const backup = (
  name: string,
  ok: boolean | undefined,
  { isReadable = true, isScheduled = true } = {},
): Backup =>
  ({
    name,
    manifest: isReadable ? { is_scheduled: isScheduled } : undefined,
    verified: ok === undefined ? undefined : { at: 0, ok, reason: null },
  }) as Backup

t.test('surplus backups are the oldest, and never the last good one', async t => {
  const names = (backups: Backup[], keep: number) =>
    listSurplus(backups, keep).map(({ name }) => name)
  const good = [5, 4, 3].map(n => backup(`good${n}`, true))
  t.strictSame(names(good, 2), ['good3'])
  t.strictSame(names(good, 3), [])
  const bad = [9, 8, 7].map(n => backup(`bad${n}`, false))
  t.strictSame(names([...bad, ...good], 1), ['good4', 'good3', 'bad8', 'bad7'])
  const kept = [
    backup('unreadable', true, { isReadable: false }),
    backup('by hand', true, { isScheduled: false }),
  ]
  t.strictSame(names([...good, ...kept], 1), ['good4', 'good3'])
})

t.test('a scheduled backup is tested and replaces the oldest', { skip: notInFiles }, async t => {
  const { stateDir, folder } = await backupRig(t)
  const recipients = [await identityToRecipient(await generateIdentity())]
  const request = { folder, keep: 2, isScheduled: true }
  const make = (now: number, sealWith: object = { recipients }) =>
    makeScheduled({ ...request, stateDir, place: stateDir, sealWith, now, since: now })
  await make(NOW)
  await make(NOW + 1000, sealLightly)
  t.match(await make(NOW + 2000), { name: 'backup-20261120T120002Z', removed: 1 })
  t.match(await listBackups(folder), [
    { name: 'backup-20261120T120002Z', verified: { ok: true } },
    { name: 'backup-20261120T120001Z', verified: { ok: true } },
  ])
})

t.test('a retry tests the backup of the attempt before', { skip: notInFiles }, async t => {
  const { stateDir, folder } = await backupRig(t)
  const common = { folder, stateDir, place: stateDir, keep: 1, isScheduled: true, since: NOW }
  const make = (now: number) => makeScheduled({ ...common, sealWith: sealLightly, now })
  const { name } = await make(NOW)
  const path = join(folder, name)
  await rm(join(path, 'verified.json'))
  t.equal((await make(NOW + 1000)).name, name)
  t.match(await listBackups(folder), [{ name, verified: { ok: true } }])
  // damage is noted, another backup is made, and of two damaged ones only the newest is kept
  for (const ms of [1000, 2000]) {
    const next = createBackup({ ...common, sealWith: sealLightly, now: NOW + ms })
    await rm(join(folder, (await next).name, 'records.db'))
    await t.rejects(make(NOW + ms), { code: 'invalid_request' })
  }
  t.strictSame(
    (await listBackups(folder)).map(backup => [backup.name, backup.verified?.ok]),
    [
      ['backup-20261120T120002Z', false],
      [name, true],
    ],
  )
})

t.test('a schedule needs a cron expression, and a passphrase or recipients', async t => {
  const issues = (input: object) =>
    BackupSettings.safeParse(input).error?.issues.map(({ path }) => path.join('.'))
  t.strictSame(issues({ schedule: '0 3 * * *', passphrase_file: '/x' }), undefined)
  t.strictSame(issues({ schedule: '0 3 * * *' }), ['passphrase_file'])
  t.strictSame(issues({ schedule: 'daily', passphrase_file: '/x' }), ['schedule'])
  const recipients = [await identityToRecipient(await generateIdentity())]
  t.strictSame(issues({ schedule: '0 3 * * *', recipients }), undefined)
  t.strictSame(issues({ recipients: ['AGE-SECRET-KEY-1X'] }), ['recipients.0'])
})

t.test('one of two coordinators makes a scheduled backup', { skip: postgresMissing }, async t => {
  const folder = await temporaryFolder(t)
  const passphrase_file = join(await temporaryFolder(t), 'passphrase')
  await writeFile(passphrase_file, `${PASSPHRASE}\n`)
  const settings = { backup: { folder, schedule: '0 3 1 1 *', passphrase_file } }
  const { store, startWith } = await startCoordinators(t, 0)
  await startWith(settings)
  await startWith(settings)
  const { ledger } = store
  const jobs = () =>
    ledger.read
      .selectFrom('jobs')
      .select(['state', 'reason'])
      .where('kind', '=', SCHEDULED_BACKUP)
      .execute()
  t.strictSame(await jobs(), [])
  const due = (await ledger.free.write(ledger.nowMs)) - 1000
  await ledger.free.write(trx =>
    trx
      .updateTable('schedules')
      .set({ next_at: due, due_at: due })
      .where('name', '=', SCHEDULED_BACKUP)
      .execute(),
  )
  const ended = await waitUntil('the end of the job', async () => {
    const all = await jobs()
    return (
      all.length > 0 && all.every(({ state }) => state !== 'queued' && state !== 'running') && all
    )
  })
  t.strictSame(ended, [{ state: 'done', reason: null }])
  t.match(await listBackups(folder), [
    { manifest: { store: 'postgresql' }, verified: { ok: true } },
  ])
  t.equal((await listBackups(folder)).length, 1)
})
