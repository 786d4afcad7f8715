import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Command } from 'commander'
import t, { type Test } from 'tap'
import { bootstrap, demoKeys } from '../../../../coordinator/access/keys/bootstrap.ts'
import { Keys } from '../../../../coordinator/access/keys/keys.ts'
import { listPeople } from '../../../../coordinator/access/people/people.ts'
import { Cells } from '../../../../coordinator/fleet/enrolment/cells.ts'
import { createAudit } from '../../../../coordinator/kernel/audit/audit.ts'
import { purgeAudit } from '../../../../coordinator/kernel/audit/purge.ts'
import { openSecrets } from '../../../../coordinator/kernel/secrets/open-secrets.ts'
import { openStore, type Store } from '../../../../coordinator/kernel/store/store.ts'
import { loadOwnCertificate } from '../../../../coordinator/kernel/tls/own-certificate.ts'
import { addAdminCommands } from '../../../../coordinator/surfaces/admin/admin.ts'
import { localActor, silentLogger } from '../../../../coordinator/surfaces/admin/on-store.ts'
import { parseJoinToken } from '../../../../shared/join-token.ts'
import { formatOutput } from '../../../../shared/print.ts'
import { lockState } from '../../../../shared/state-lock.ts'
import { loneSigner } from '../../../support/lone-signer.ts'
import { certificatePlace, signingOf } from '../../../support/secrets.ts'
import { coordinator, spawnCoordinator } from '../../../support/shoal-program.ts'
import { auditRows, logger } from '../../access/keys/fixtures.ts'
import { notInFiles, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

/** Opens the secrets of a store with the sealing key in the folder. */
const sharedIn = (stateDir: string) => (store: Store) =>
  openSecrets({ store, stateDir, logger: silentLogger })

/** The program on a store of its own, and that store. */
const createAdminScene = async (t: Pick<Test, 'teardown'>) => {
  const folder = await temporaryFolder(t)
  const text = async (...argv: string[]): Promise<string> => {
    let out = ''
    const program = new Command().exitOverride().configureOutput({ writeErr: () => {} })
    const write = (more: string) => {
      out += more
    }
    const open = () => openStore(folder, { pollMilliseconds: 0 })
    addAdminCommands(program, {
      open,
      openSecrets: sharedIn(folder),
      stateDir: () => folder,
      write,
    })
    for (const command of program.commands) {
      command.exitOverride()
      for (const inner of command.commands) inner.exitOverride()
    }
    await program.parseAsync(argv, { from: 'user' })
    return out
  }
  const json = async (...argv: string[]) => JSON.parse(await text(...argv, '--format', 'json'))
  return { folder, store: await temporaryStore(t, folder), text, json }
}

t.test('init', { skip: notInFiles }, async t => {
  t.test('makes the first operator, audited as bootstrap, and only once', async t => {
    const { store, json } = await createAdminScene(t)
    const made = await json('init', '--tenant', 'acme', '--person', 'Ada')
    t.match(made, { tenant: 'acme', roles: ['client', 'operator_admin'], kind: 'person' })
    t.match(await new Keys({ store, logger }).authenticate(made.secret), { id: made.id })
    const last = (await auditRows(store)).at(-1)
    t.match(last, { action: 'bootstrap', subject: 'acme', ...localActor() })
    await t.rejects(json('init'), { code: 'conflict' })
    t.equal((await json('key', 'list')).length, 1)
    const purge = { signer: loneSigner(), retentionDays: 400, now: Date.now, suspect: () => {} }
    const { signal } = new AbortController()
    await purgeAudit({ ...purge, ledger: store.ledger, signal }, Date.now() + 1)
    await t.rejects(json('init'), { code: 'conflict' }, 'also when its row was purged')
  })

  t.test('works beside the demonstration keys', async t => {
    const { store, json } = await createAdminScene(t)
    await bootstrap(store)
    t.match(await json('init', '--tenant', 'demo'), { tenant: 'demo' })
  })
})

t.test('the demonstration setup', { skip: notInFiles }, async t => {
  const everything = ['builder', 'reviewer', 'architect', 'finance', 'legal', 'operator_admin']

  t.test('has a key of every tier, an operator and two approvers on every run', async t => {
    const store = await temporaryStore(t)
    const keys = new Keys({ store, logger })
    for (const { keys: made } of [await bootstrap(store), await bootstrap(store)]) {
      for (const tier of ['free', 'pro', 'enterprise'] as const)
        t.match(await keys.authenticate(made[tier]), { tenantId: 'demo', tier, roles: ['client'] })
      const operator = await keys.authenticate(made.operator)
      t.match(operator, { kind: 'person', roles: ['client', 'operator_admin', 'builder'] })
      const first = await keys.authenticate(made.approver_a)
      const second = await keys.authenticate(made.approver_b)
      for (const approver of [first, second])
        t.match(approver, { kind: 'person', roles: ['client', ...everything] })
      t.equal(new Set([operator, first, second].map(key => key?.personId)).size, 3)
    }
    t.equal((await keys.list('all')).length, 12)
    t.equal((await listPeople(store.ledger, 'all')).length, 6, 'the persons stay the same')
  })

  t.test('keeps the valid keys and issues the others', async t => {
    const store = await temporaryStore(t)
    const keys = new Keys({ store, logger })
    const { keys: made } = await bootstrap(store)
    t.strictSame(await demoKeys(store, made), { keys: made, issued: [] })

    const pro = await keys.authenticate(made.pro)
    await keys.revoke(pro?.id ?? '', 'all', localActor())
    const stranger = await keys.create(
      { tenantId: 'demo', personId: 'demo_free', tier: 'enterprise', label: 'mine' },
      localActor(),
    )
    const known = { ...made, free: stranger.secret, operator: made.enterprise }
    const { keys: next, issued } = await demoKeys(store, known)
    t.strictSame(issued, ['free', 'pro', 'operator'])
    t.equal(next.enterprise, made.enterprise)
    for (const name of issued) t.match(await keys.authenticate(next[name]), { tenantId: 'demo' })
    t.strictSame((await demoKeys(store, {})).issued.length, 6, 'all of them when none is known')
  })
})

t.test('keys', { skip: notInFiles }, async t => {
  const { store, text, json } = await createAdminScene(t)
  await json('tenant', 'create', 'acme', '--name', 'Acme')
  await json('tenant', 'create', 'other')
  const person = await json('person', 'create', '--tenant', 'acme', '--name', 'Ada')
  const args = ['key', 'create', '--tenant', 'acme', '--person', person.id, '--tier', 'pro']
  const more = ['--further-tenant', 'other', '--kind', 'ci_pipeline', '--label', 'build']
  const roles = ['--role', 'client', '--role', 'builder', '--expires-days', '30']

  t.test('are issued as requested, and their secret is shown once', async t => {
    const made = await json(...args, ...more, ...roles)
    t.match(made, {
      tenant: 'acme',
      further_tenants: ['other'],
      person: person.id,
      tier: 'pro',
      kind: 'ci_pipeline',
      roles: ['client', 'builder'],
      label: 'build',
    })
    t.equal(Math.round((Date.parse(made.expires_at) - Date.now()) / 86_400_000), 30)
    t.match(await new Keys({ store, logger }).authenticate(made.secret), { id: made.id })
    const listed = await text('key', 'list')
    t.match(listed, made.id)
    t.notMatch(listed, made.secret)
    t.match(listed, /^id +label +tenant +further_tenants +person +tier/)
  })

  t.test('are revoked', async t => {
    const made = await json(...args)
    t.match(await json('key', 'revoke', made.id), { revoked_at: /^20/ })
    t.equal(await new Keys({ store, logger }).authenticate(made.secret), undefined)
    await t.rejects(text('key', 'revoke', 'unknown'), { code: 'not_found' })
  })

  t.test('are refused with invalid or unknown values', async t => {
    await t.rejects(text(...args.slice(0, -1), 'gold'), { code: 'commander.invalidArgument' })
    await t.rejects(text(...args, '--expires-days', '0'), { code: 'commander.invalidArgument' })
    await t.rejects(text(...args, '--role', 'root'), { code: 'commander.invalidArgument' })
    await t.rejects(text('key', 'create'), { code: 'commander.missingMandatoryOptionValue' })
    const nobody = ['key', 'create', '--tenant', 'acme', '--person', 'nobody']
    await t.rejects(text(...nobody), { code: 'invalid_request' })
  })
})

t.test('keys that approve', { skip: notInFiles }, async t => {
  const { store, json } = await createAdminScene(t)
  const first = await json('init', '--tenant', 'acme', '--person', 'Ada')
  for (const name of ['Bea', 'Cal', 'Cal'])
    await json('person', 'create', '--tenant', 'acme', '--name', name)
  const create = (person: string, ...more: string[]) =>
    json('key', 'create', '--tenant', 'acme', '--person', person, ...more)
  const approver = ['--role', 'client', '--role', 'operator_admin']

  t.test('are issued for a person by name while one person could approve', async t => {
    const made = await create('Bea', ...approver)
    t.match(made, { tenant: 'acme', roles: ['client', 'operator_admin'] })
    const rows = await auditRows(store)
    t.match(rows.at(-1), { action: 'bootstrap', subject: 'acme', ...localActor() })
    const approvers = await new Keys({ store, logger }).listApprovers('acme')
    t.strictSame(new Set(approvers.map(each => each.personId)).size, 2)
  })

  t.test('are refused once two people could approve', async t => {
    for (const role of ['operator_admin', 'reviewer'])
      await t.rejects(create('Ada', '--role', role), {
        code: 'conflict',
        message: /2 people of tenant acme can approve keys.*shoal keys request/,
      })
    await json('tenant', 'create', 'other')
    await json('person', 'create', '--tenant', 'other', '--name', 'Dan')
    const foreign = ['--tenant', 'other', '--person', 'Dan', '--further-tenant', 'acme']
    await t.rejects(json('key', 'create', ...foreign, ...approver), { code: 'conflict' })
    t.match(await create('Ada', '--tier', 'pro'), { roles: ['client'] }, 'no vote, no limit')
    t.match(await create('Bea', '--kind', 'ci_pipeline', '--role', 'builder'), {
      roles: ['builder'],
    })
    t.equal((await auditRows(store)).filter(({ action }) => action === 'bootstrap').length, 2)
  })

  t.test('are issued again when a key is revoked or its person disabled', async t => {
    await json('key', 'revoke', first.id)
    await create('Ada', ...approver)
    await t.rejects(create('Ada', ...approver), { code: 'conflict' })
    await json('person', 'disable', 'Bea')
    await create('Ada', '--role', 'operator_admin', '--role', 'architect')
  })

  t.test('need a name that only one person has', async t => {
    await t.rejects(create('Cal'), { code: 'conflict', message: /several people.*person_\w+, / })
    await t.rejects(create('Nobody'), { code: 'invalid_request' })
  })
})

t.test('cells', { skip: notInFiles }, async t => {
  const { store, text, json } = await createAdminScene(t)
  t.equal(await text('cell', 'list'), 'none\n')
  const token = await json('token', 'create', '--ttl-minutes', '5', '--tag', 'rack', 'gpu')
  t.match(token.join, `shoald join URL --token ${token.secret}`, 'the whole line is printed')
  await t.rejects(json('token', 'create', '--uses', '2'), {
    code: 'forbidden',
    message: /approval at gate\.cell-enroll/,
  })
  t.equal(Date.parse(token.expires_at) - Date.parse(token.created_at), 300_000)
  const cells = new Cells({ store })
  const { cellId } = await cells.enrol({ token: token.secret, name: 'rack\u001b[2J' })
  t.match(await json('token', 'list'), [
    { id: token.id, role: 'cell', tags: ['rack', 'gpu'], uses: 1, uses_left: 0 },
  ])
  t.match(await json('cell', 'list'), [{ id: cellId, tags: ['rack', 'gpu'], revoked_at: null }])
  t.match(await text('cell', 'list'), 'rack\\u{1b}[2J', 'a name cannot move the cursor')
  t.match(await json('token', 'revoke', token.id), { revoked_at: /^20/ })
  await cells.quarantine(cellId, 'two machines')
  t.match(await json('cell', 'list'), [{ quarantined_at: /^20/ }])
  t.match(await json('cell', 'release', cellId), { id: cellId, quarantined_at: null })
  t.match(await json('cell', 'revoke', cellId), { id: cellId, revoked_at: /^20/ })
  t.strictSame(await json('cell', 'list'), [], 'who was revoked is not in the way')
  t.match(await json('cell', 'list', '--all'), [{ id: cellId }])
})

t.test('only init creates a store; a mistyped folder is refused', { skip: notInFiles }, async t => {
  const folder = join(await temporaryFolder(t), 'coordinator')
  const run = (...args: string[]) => coordinator({ SHOAL_COORDINATOR_STATE_DIR: folder }, args)
  for (const command of [
    ['key', 'list'],
    ['token', 'create'],
    ['broker', 'files', '--out', folder],
  ]) {
    const { code, err } = await run(...command)
    t.equal(code, 66, command.join(' '))
    t.match(
      err,
      /there is no store in .*coordinator: .*--state-dir,.*SHOAL_STORE_URL, or make a store with init/,
    )
    t.notOk(existsSync(folder))
  }
  t.equal((await run('init')).code, 0)
  t.match(await run('key', 'list'), { code: 0, out: /operator_admin/ })
})

t.test(
  'a token carries the fingerprint of the authority that the coordinator has created',
  async t => {
    const folder = await temporaryFolder(t)
    const identity = await loadOwnCertificate(await certificatePlace(t), ['localhost'])
    const run = async (...argv: string[]) => {
      let out = ''
      const write = (more: string) => {
        out += more
      }
      const program = new Command().exitOverride()
      addAdminCommands(program, {
        open: () => openStore(folder),
        openSecrets: sharedIn(folder),
        stateDir: () => folder,
        write,
        identify: async () => identity,
      })
      await program.parseAsync([...argv, '--format', 'json'], { from: 'user' })
      return JSON.parse(out)
    }
    t.match(await run('init'), { ca_file: identity.caFile })
    const { secret } = await run('token', 'create')
    t.equal(parseJoinToken(secret)?.fingerprint, identity.fingerprint)
  },
)

t.test('tenants and persons are listed', { skip: notInFiles }, async t => {
  const { json } = await createAdminScene(t)
  await json('tenant', 'create', 'acme')
  t.match(await json('tenant', 'list'), [{ id: 'acme', name: 'acme' }])
  await json('person', 'create', '--tenant', 'acme', '--name', 'Ada')
  t.match(await json('person', 'list'), [{ tenant: 'acme', name: 'Ada' }])
})

t.test(
  'audit verify reports purged rows and rejects another key',
  { skip: notInFiles },
  async t => {
    const { folder, store, json, text } = await createAdminScene(t)
    const audit = createAudit(store)
    for (const at of [1000, 2000, 3000])
      await audit.append({ actor: 'a', action: 'b', subject: 'c', outcome: 'done', at })
    const purge = {
      ledger: store.ledger,
      signer: await signingOf(store, folder),
      retentionDays: 183,
      now: () => 9000,
      suspect: () => {},
      signal: new AbortController().signal,
    }
    await purgeAudit(purge, 2500)
    t.match(await json('audit', 'verify'), {
      ok: true,
      rows: 2,
      purged_up_to: 2,
      purged_after_days: 183,
      purged_until: '1970-01-01T00:00:02.000Z',
    })
    await rm(join(folder, 'sealing.key'))
    await t.rejects(text('audit', 'verify'), {
      code: 'config_invalid',
      message: /sealing\.key is missing/,
    })
    await json('secrets', 'discard', '--reason', 'the disk failed')
    await t.rejects(text('audit', 'verify'), { code: 'audit_broken', message: /no purge of ours/ })
  },
)

t.test(
  'audit verify prints the head of an intact chain and fails for a broken one',
  { skip: notInFiles },
  async t => {
    const { store, text, json } = await createAdminScene(t)
    await json('tenant', 'create', 'acme')
    t.match(await json('audit', 'verify'), { ok: true, rows: 1, head: /^[0-9a-f]{64}$/ })
    t.match(await text('audit', 'verify'), /^ok {4}true\nrows {2}1\nhead {2}/)
    const [row] = await store.ledger.read.selectFrom('audit').selectAll().execute()
    const forged = { ...row, seq: 2 } as Required<typeof row> & { seq: number }
    await store.ledger.sealed.write(trx =>
      trx
        .insertInto('audit')
        .values(forged as never)
        .execute(),
    )
    await t.rejects(text('audit', 'verify'), { code: 'audit_broken', message: /row 2/ })
  },
)

t.test('output is printed as aligned text or JSON', { skip: notInFiles }, async t => {
  t.equal(formatOutput([], 'json'), '[]\n')
  t.equal(
    formatOutput({ a: 1, long: null, list: ['x', 'y'] }, 'text'),
    'a     1\nlong  -\nlist  x,y\n',
  )
  t.equal(
    formatOutput(
      [
        { a: 'xx', b: '' },
        { a: 1, b: 2 },
      ],
      'text',
    ),
    'a   b\nxx  -\n1   2\n',
  )
})

t.test('a key is moved to another tier', { skip: notInFiles }, async t => {
  const { json, text } = await createAdminScene(t)
  const { id } = await json('init')
  t.match(await json('key', 'tier', id, '--tier', 'pro'), { id, tier: 'pro' })
  t.match(await json('key', 'list'), [{ tier: 'pro' }])
  await t.rejects(text('key', 'tier', id), { code: 'commander.missingMandatoryOptionValue' })
})

t.test(
  'a wrong command is reported with the way to list the commands',
  { skip: notInFiles },
  async t => {
    for (const [words, says] of [
      [['foo'], "unknown command 'foo'"],
      [
        ['key', 'create', '--tier', 'gold'],
        "--tier <tier> cannot be 'gold': allowed choices are free, pro, enterprise",
      ],
    ] as const) {
      const { code, err } = await coordinator({}, words)
      t.equal(code, 64)
      const [first, second] = err.split('\n')
      t.equal(first, `shoal-coordinator: ${says}`)
      t.match(second, /^shoal-coordinator help lists the commands/)
    }
  },
)

t.test('both programs list their commands in --help and their flags in --help-config', async t => {
  for (const [program, command, flag] of [
    ['shoal-coordinator', /^ {2}token /m, /^ {2}--http-port VALUE/m],
    ['shoald', /^ {2}shoald join /m, /^ {2}--state-dir VALUE/m],
  ] as const) {
    const show = async (help: string): Promise<string> => {
      if (program === 'shoal-coordinator') {
        const { code, out } = await coordinator({}, [help])
        t.equal(code, 0)
        return out
      }
      const args = [resolve(`bin/${program}.mjs`), help]
      const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      t.equal(status, 0)
      return stdout
    }
    const help = await show('--help')
    t.match(help, command, program)
    t.match(help, `${program} --help-config lists the flags`)
    t.ok(help.split('\n').length < 24, 'it fits a terminal')
    t.match(await show('--help-config'), flag, program)
  }
})

t.test('the sealing key is replaced by two commands', { skip: notInFiles }, async t => {
  const { store, json } = await createAdminScene(t)
  await json('init')
  await json('audit', 'accept', '--reason', 'whatever opens the secrets')
  const before = await json('secrets', 'list')
  t.match(before, [
    { name: 'data-keys', opens_here: true },
    { name: 'signing', version: 2 },
  ])
  await t.rejects(json('secrets', 'rotate'), { code: 'conflict', message: /secrets add-key/ })
  const { sealing_key } = await json('secrets', 'add-key')
  t.match(await json('secrets', 'rotate'), { sealing_key, replaces: before[0].sealing_key })
  const after = await json('secrets', 'list')
  t.strictSame(
    after.map((row: { sealing_key: string }) => row.sealing_key),
    [sealing_key, sealing_key],
  )
  t.match((await auditRows(store)).at(-1), { action: 'secrets.rotate', ...localActor() })
})

t.test(
  '`audit accept` works beside the process that uses the folder',
  { skip: notInFiles },
  async t => {
    const folder = await temporaryFolder(t)
    const run = (...words: string[]) => coordinator({}, ['--state-dir', folder, ...words])
    t.equal((await run('init', '--tenant', 'acme', '--person', 'alice')).code, 0)
    const held = new AbortController()
    await lockState(folder, held.signal)
    const at = { SHOAL_COORDINATOR_STATE_DIR: folder }
    const accept = ['audit', 'accept', '--reason', 'restored']
    const { code, err } = await spawnCoordinator(at, accept)
    const discarded = await run('secrets', 'discard', '--reason', 'lost')
    held.abort()
    t.equal(code, 0, err)
    t.equal(discarded.code, 65)
    t.match(discarded.err, `another process already uses ${folder}`)
    const after = await run('secrets', 'discard', '--reason', 'lost')
    t.match(after.err, /none is lost/)
    t.notOk((await readdir(folder)).includes('lock'), 'the lock is released')
  },
)

t.test('a folder that another process uses is left unchanged', { skip: notInFiles }, async t => {
  const folder = await temporaryFolder(t)
  const held = new AbortController()
  await lockState(folder, held.signal)
  const { code, err } = await coordinator({}, ['--state-dir', folder, '--http-port', '0'])
  held.abort()
  t.equal(code, 65)
  t.match(err, `another process already uses ${folder}`)
  t.strictSame(await readdir(folder), [])
})
