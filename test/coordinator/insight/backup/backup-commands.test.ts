import { appendFile, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import t, { type Test } from 'tap'
import { backupRig, PASSPHRASE } from '../../../support/backup-rig.ts'
import {
  coordinator,
  hasPython,
  runInTerminal,
  SHOAL,
  spawnShoal,
} from '../../../support/shoal-program.ts'
import { onSmallDisk, smallDiskProblem } from '../../../support/small-disk.ts'
import { Process } from '../../../support/stack.ts'
import { notInFiles, temporaryFolder } from '../../kernel/store/temporary.ts'

const scene = async (t: Test) => {
  const rig = await backupRig(t)
  await rig.store.close()
  const { stateDir, folder } = rig
  const at = { SHOAL_COORDINATOR_STATE_DIR: stateDir }
  return { ...rig, at, env: { ...at, SHOAL_BACKUP_PASSPHRASE: PASSPHRASE }, folder }
}

t.test('shoal makes, tests and restores a backup', { skip: notInFiles }, async t => {
  const { folder, at, env } = await scene(t)
  const missing = await spawnShoal(at, ['backup', 'create', '--folder', folder])
  t.equal(missing.code, 64)
  t.match(missing.err, /^shoal-coordinator: the passphrase of the backup is missing: .*\n$/)
  const made = await spawnShoal(env, ['backup', 'create', '--folder', folder, '--format', 'json'])
  t.equal(made.code, 0, made.err)
  const path = JSON.parse(made.out).backup
  const untold = await coordinator(at, ['backup', 'restore', path])
  t.equal(untold.code, 64)
  t.match(untold.err, /^shoal-coordinator: the passphrase of the backup is missing: .*\n$/)
  const verified = await coordinator(env, ['backup', 'verify', path])
  t.equal(verified.code, 0, verified.err)
  const target = join(await temporaryFolder(t), 'state')
  const elsewhere = { ...env, SHOAL_COORDINATOR_STATE_DIR: target }
  const restored = await coordinator(elsewhere, ['backup', 'restore', path])
  t.equal(restored.code, 0, restored.err)
  t.match(restored.out, /audit accept --reason/)
  const reason = ['audit', 'accept', '--reason', 'restored']
  const accepted = await coordinator(elsewhere, reason)
  t.equal(accepted.code, 0, accepted.err)
  await appendFile(join(path, 'records.db'), 'x')
  const damaged = await coordinator(env, ['backup', 'verify', path])
  t.equal(damaged.code, 65)
  t.match(damaged.err, /damaged: records.db is changed/)
})

t.test('an age key opens a backup that was made for it', { skip: notInFiles }, async t => {
  const { folder, at } = await scene(t)
  const identity = await generateIdentity()
  const file = join(await temporaryFolder(t), 'key.txt')
  await writeFile(file, `# created by age-keygen\n${identity}\n`)
  const recipient = await identityToRecipient(identity)
  const create = ['backup', 'create', '--folder', folder, '--recipient', recipient]
  const made = await coordinator(at, [...create, '--format', 'json'])
  t.equal(made.code, 0, made.err)
  const path = JSON.parse(made.out).backup
  const missing = await coordinator(at, ['backup', 'verify', path])
  t.equal(missing.code, 64)
  t.match(missing.err, /^shoal-coordinator: the age key of the backup is missing: .*\n$/)
  const verified = await coordinator(at, ['backup', 'verify', path, '--identity-file', file])
  t.equal(verified.code, 0, verified.err)
})

t.test('a passphrase is typed twice, without echo', { skip: notInFiles || !hasPython }, async t => {
  const { folder, at } = await scene(t)
  const type = (again: string) =>
    runInTerminal([process.execPath, SHOAL, 'backup', 'create', '--folder', folder], {
      env: at,
      steps: [
        { wait: 'Passphrase of the backup: ', type: `${PASSPHRASE}\r` },
        { wait: 'Again: ', type: `${again}\r` },
      ],
    })
  const differs = await type('something else')
  t.equal(differs.code, 64)
  t.match(differs.out, /the two passphrases differ/)
  const made = await type(PASSPHRASE)
  t.equal(made.code, 0, made.out)
  t.notMatch(made.out, PASSPHRASE)
  t.equal((await readdir(folder)).length, 1)
})

t.test('a schedule is written into the configuration', { skip: notInFiles }, async t => {
  const { folder, at } = await scene(t)
  const config = join(await temporaryFolder(t), 'coordinator.yaml')
  await writeFile(config, '# mine\nlog: { level: info } # calm\n', { mode: 0o640 })
  const schedule = (...args: string[]) =>
    coordinator(at, ['backup', '--format', 'json', '--config', config, 'schedule', ...args])
  const off = await schedule()
  t.match(JSON.parse(off.out || '{}'), { schedule: 'off', next_at: null }, off.err)
  const bare = await schedule('0 3 * * *')
  t.equal(bare.code, 64)
  t.match(bare.err, /backup.passphrase_file: a scheduled backup needs/)
  const key = ['--passphrase-file', '/etc/shoal/passphrase', '--folder', folder, '--keep', '7']
  const set = await schedule('0 3 * * *', ...key)
  t.match(JSON.parse(set.out || '{}'), { schedule: '0 3 * * *', keep: 7, folder }, set.err)
  const text = await readFile(config, 'utf8')
  t.match(text, '# mine\nlog: { level: info } # calm\n')
  t.match(text, /passphrase_file: \/etc\/shoal\/passphrase/)
  t.equal((await stat(config)).mode & 0o777, 0o640)
  t.match(JSON.parse((await schedule('--off')).out), { schedule: 'off', keep: 7 })
  const nowhere = await coordinator(at, ['backup', 'schedule', '0 3 * * *'])
  t.equal(nowhere.code, 64)
  t.match(nowhere.err, /--config/)
})

const noSmallDisk = notInFiles || (smallDiskProblem() ?? false)

t.test('a full disk leaves nothing of a backup', { skip: noSmallDisk }, async t => {
  const { folder, env } = await scene(t)
  const size = 300_000
  const list = ['sh', '-c', `"$@"; echo "code $?"; echo "left: $(ls -A ${folder})"`, 'sh']
  const wrap = [...onSmallDisk(folder, size), ...list]
  const create = new Process(
    'shoal-coordinator',
    () => ['backup', 'create', '--folder', folder],
    env,
    wrap,
  )
  create.start()
  t.match((await create.line(/has no room for a backup/))[0], 'no room')
  await create.line(/^code [1-9]/)
  t.equal((await create.line(/^left: .*/))[0], 'left: ')
})
