import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import t from 'tap'
import { startForwarder } from '../../../bin/up/balancer/forward.ts'
import { acceptAudit } from '../../../coordinator/kernel/audit/accept.ts'
import { markTrouble } from '../../../coordinator/kernel/store/trouble.ts'
import { LINK_PATH, MQTT_PATH } from '../../../shared/wire/link.ts'
import { echoCell, reportRegistered } from '../../prove/support/echo-cell.ts'
import { startCoordinators } from '../../support/coordinators.ts'
import { postgresMissing } from '../../support/postgres.ts'
import { signingOf } from '../../support/secrets.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { temporaryFolder } from '../kernel/store/temporary.ts'

/** Rest between two looks at both: the key of the test has 300 calls a minute. */
const LOOK_MS = 250

t.test('two coordinators on one store', { skip: postgresMissing }, async t => {
  const { store, coordinators, joinToken, start, ask, enrol, stateDir } = await startCoordinators(
    t,
    2,
  )
  const [a = '', b = ''] = coordinators.map(({ url }) => url)

  const presenceAt = async (url: string, cellId: string) =>
    (await ask(url, 'GET', `/v1/cells/${cellId}`)).json.presence

  await waitUntil('both know each other', async () => {
    const lists = await Promise.all([a, b].map(url => ask(url, 'GET', '/v1/replicas')))
    return lists.every(({ json }) => json.replicas.length === 2)
  })

  await t.test('list each other, and one of them leads', async t => {
    const [first, second] = await Promise.all([a, b].map(url => ask(url, 'GET', '/v1/replicas')))
    const of = (answer: typeof first) =>
      (answer?.json.replicas as { id: string; leads: boolean; is_self: boolean }[]) ?? []
    t.strictSame(
      of(first).map(({ id }) => id),
      of(second).map(({ id }) => id),
    )
    t.equal(of(first).filter(({ leads }) => leads).length, 1)
    t.not(
      of(first).find(({ is_self }) => is_self)?.id,
      of(second).find(({ is_self }) => is_self)?.id,
    )
  })

  await t.test('tell a cell who they are, and refuse one that is linked already', async t => {
    const cell = await enrol(a)
    for (const path of [MQTT_PATH, LINK_PATH]) {
      const first = await cell.dial(a, [], path)
      const other = await cell.dial(b, [first.replica], path)
      t.match([first.status, other.status], [101, 101])
      t.not(first.replica, other.replica)
      const again = await cell.dial(a, [other.replica, first.replica], path)
      t.match(again, { status: 409, replica: first.replica, socket: undefined })
      t.notOk(first.socket?.destroyed, 'the connection is left alone')
    }
  })

  await t.test('tell a cell which of them live, after its birth and on change', async t => {
    const cell = await enrol(a)
    const old = await enrol(b)
    const session = await cell.connect(a)
    const { replicas } = (await ask(a, 'GET', '/v1/replicas')).json
    const ids = replicas.map(({ id }: { id: string }) => ({ id }))
    t.match(await cell.next(session, 'replicas'), { replicas: ids })
    const oldSession = await old.connect(a, 4)
    const third = await start()
    const isNotice = (body: unknown, count: number) =>
      (body as { replicas: unknown[] }).replicas.length === count
    t.ok(isNotice(await cell.next(session, 'replicas'), 3))
    await third.close()
    t.ok(isNotice(await cell.next(session, 'replicas'), 2), 'one that leaves is gone at once')
    await oldSession.ping()
    const topics = oldSession.listPendingPackets().map(packet => 'topic' in packet && packet.topic)
    t.notOk(
      topics.some(topic => String(topic).endsWith('/replicas')),
      'an older cell is not told',
    )
  })

  await t.test('refuse a third one with another sealing key before it registers', async t => {
    const { free } = store.ledger
    const forbid = sql`alter table replicas add constraint nobody_new
      check (started_at < ${sql.lit(Date.now())}) not valid`
    await free.write(trx => forbid.execute(trx))
    await t.rejects(start(randomBytes(32).toString('base64')), {
      code: 'config_invalid',
      message: /copy sealing\.key/,
    })
    await free.write(trx => sql`alter table replicas drop constraint nobody_new`.execute(trx))
  })

  await t.test('act on the operator of the other within a second', async t => {
    const cell = await enrol(a)
    const [atA, atB] = [await cell.connect(a), await cell.connect(b)]
    await waitUntil('it is ready at both', async () => {
      const found = await Promise.all([presenceAt(a, cell.id), presenceAt(b, cell.id)])
      return found.every(presence => presence === 'ready')
    })
    const within = async (what: string, check: () => Promise<boolean>) => {
      const from = performance.now()
      await waitUntil(what, check)
      t.ok(performance.now() - from < 1500, what)
    }
    await ask(a, 'POST', `/v1/cells/${cell.id}/drain`)
    await within('drained', async () => (await presenceAt(b, cell.id)) === 'draining')
    await ask(b, 'POST', `/v1/cells/${cell.id}/resume`)
    await within('resumed', async () => (await presenceAt(a, cell.id)) === 'ready')
    const ended = Promise.all([atA.closed, atB.closed])
    const from = performance.now()
    t.equal((await ask(a, 'DELETE', `/v1/cells/${cell.id}`)).status, 200)
    await ended
    t.ok(performance.now() - from < 1500, 'its connections to both are closed')
    t.equal((await cell.dial(b)).status, 401)
  })

  await t.test('ask a cell to renew by the one that it is connected to', async t => {
    const cell = await enrol(a)
    const atB = await cell.connect(b)
    const asked = ask(a, 'POST', `/v1/cells/${cell.id}/renew`)
    t.strictSame(await cell.next(atB, 'renew'), {})
    t.equal((await asked).status, 200)
    atB.socket.destroy()
    await waitUntil('it is gone', async () => (await presenceAt(b, cell.id)) === 'dead')
    t.match(await ask(a, 'POST', `/v1/cells/${cell.id}/renew`), {
      status: 503,
      json: { error: { code: 'cell_unavailable' } },
    })
    await atB.ping()
    t.notOk(atB.listPendingPackets().some(({ cmd }) => cmd === 'publish'))
  })

  await t.test('quarantine a copied cell everywhere, and release it everywhere', async t => {
    const cell = await enrol(a)
    const sessions = [await cell.connect(a), await cell.connect(b)]
    const own = cell.bootId
    const copy = 'c'.repeat(32)
    for (const bootId of [copy, own, copy]) {
      cell.bootId = bootId
      await cell.dial(a)
    }
    await Promise.all(sessions.map(({ closed }) => closed))
    await waitUntil('b refuses it', async () => (await cell.dial(b)).status === 403)
    cell.bootId = own
    t.equal((await ask(b, 'POST', `/v1/cells/${cell.id}/release`)).status, 200)
    // a connection from before a has followed the release is closed once more
    const isServed = async () => (await cell.connect(a)).ping()
    await waitUntil('a serves it', () => isServed().catch(() => false))
  })

  await t.test('hear a cell that was set back once one of them has released it', async () => {
    const cell = await enrol(a)
    cell.epoch = 40
    await Promise.all([cell.connect(a), cell.connect(b)])
    const readEpoch = async () => {
      const query = store.ledger.read.selectFrom('cells').select('epoch').where('id', '=', cell.id)
      return (await query.executeTakeFirstOrThrow()).epoch
    }
    await waitUntil('the epoch is stored', async () => (await readEpoch()) === 40)
    cell.epoch = 2
    const stale = [await cell.connect(a), await cell.connect(b)]
    await waitUntil('it may be released', async () => {
      const { status } = await ask(a, 'POST', `/v1/cells/${cell.id}/release`)
      return status === 200
    })
    await Promise.all(stale.map(({ closed }) => closed))
    await cell.connect(b)
    await waitUntil('b hears it', async () => (await presenceAt(b, cell.id)) === 'ready')
  })

  await t.test('sign with one key, and both tell a cell when one has rotated it', async t => {
    const cell = await enrol(a)
    const [atA, atB] = [await cell.connect(a), await cell.connect(b)]
    // each tells its key after the birth too
    const before = await Promise.all([atA, atB].map(session => cell.next(session, 'trust')))
    t.strictSame(before[0], before[1])
    const { signing_key } = (await ask(a, 'POST', '/v1/signing-key/rotate', {})).json
    t.match(await cell.next(atA, 'trust'), { signing_key })
    t.match(await cell.next(atB, 'trust'), { signing_key })
    t.strictSame(await cell.next(atB, 'rebirth'), {}, 'what b signed with the old key is sent anew')
    t.equal((await ask(b, 'GET', '/v1/signing-key')).json.signing_key, signing_key)
  })

  await t.test('know the models that are added at either, and so do their cells', async t => {
    const forwarder = await startForwarder(
      0,
      [a, b].map(url => Number(new URL(url).port)),
    )
    t.teardown(() => forwarder.close())
    const address = `http://127.0.0.1:${forwarder.port}`
    const cell = echoCell(address, await temporaryFolder(t), joinToken, models => {
      const [report] = reportRegistered(models)
      const isLoading = models?.entries.some(({ id }) => id === 'late:1b')
      const loading = { state: 'loading', phase: 'downloading', downloaded_bytes: 7 } as const
      return report === undefined ? [] : [{ ...report, ...(isLoading && loading) }]
    })
    t.teardown(() => cell.stop())
    const chat = (url: string, model: string) =>
      ask(url, 'POST', '/v1/chat/completions', {
        model,
        messages: [{ role: 'user', content: 'hi' }],
      })
    const answers = async (model: string, status: number) => {
      const all = await Promise.all([a, b].map(url => chat(url, model)))
      return all.every(answer => answer.status === status)
    }
    await waitUntil('both are connected to the cell', () => answers('model-a:7b', 200), LOOK_MS)
    const add = (url: string, model: string) =>
      ask(url, 'POST', '/v1/catalogue', { model, path: '/srv/own.gguf' })
    const show = (url: string, model: string) =>
      ask(url, 'GET', `/v1/catalogue/${model}?file=false`)

    const adds = await Promise.all([add(a, 'own:1b'), add(b, 'own:1b')])
    t.match(
      adds.toSorted((one, other) => one.status - other.status),
      [
        { status: 201, json: { id: 'own:1b', origin: 'added' } },
        {
          status: 409,
          json: { error: { code: 'conflict', message: /own:1b exists already/ } },
        },
      ],
    )
    await waitUntil('both route it', () => answers('own:1b', 200), LOOK_MS)
    t.equal((await ask(b, 'PUT', '/v1/catalogue/gpt-4o/alias', { model: 'own:1b' })).status, 200)
    await waitUntil('both route the alias', () => answers('gpt-4o', 200), LOOK_MS)

    const third = await start()
    t.match(await show(third.url, 'gpt-4o'), { status: 200, json: { alias_of: 'own:1b' } })
    t.equal((await add(third.url, 'gpt-4o')).status, 409, 'one that starts knows them at once')
    t.equal((await add(third.url, 'late:1b')).status, 201)
    await third.close()
    await waitUntil(
      'both show the download',
      async () => {
        const shown = await Promise.all([a, b].map(url => show(url, 'late:1b')))
        const isShown = ({ json }: (typeof shown)[number]) =>
          json.cells?.some(
            (each: object) => 'downloaded_bytes' in each && each.downloaded_bytes === 7,
          )
        return shown.every(isShown)
      },
      LOOK_MS,
    )
    const remove = (url: string, id: string) => ask(url, 'DELETE', `/v1/catalogue/${id}`)
    // without a look at the changes in between
    for (let n = 0; n < 5; n++) {
      await ask(a, 'PUT', `/v1/catalogue/fresh-${n}/alias`, { model: 'own:1b' })
      const pulled = await ask(b, 'POST', `/v1/catalogue/fresh-${n}/pull`)
      t.not(pulled.json.error?.code, 'model_not_found')
      t.equal((await remove(b, `fresh-${n}`)).status, 200, 'an alias that is a moment old')
    }
    for (const id of ['late:1b', 'gpt-4o']) t.equal((await remove(a, id)).status, 200)
    await waitUntil('both refuse the alias', () => answers('gpt-4o', 404), LOOK_MS)
    const removals = await Promise.all([remove(a, 'own:1b'), remove(b, 'own:1b')])
    t.strictSame(removals.map(({ status }) => status).toSorted(), [200, 404])
  })

  await t.test('are both stopped by an audit in doubt, and freed by one acceptance', async t => {
    const troubles = async () => {
      const answers = await Promise.all([a, b].map(url => ask(url, 'GET', '/v1/alerts')))
      return answers.filter(({ json }) => JSON.stringify(json).includes('audit_broken')).length
    }
    await store.ledger.sealed.write(trx => markTrouble(trx, 'planted', Date.now()))
    await waitUntil('both show it', async () => (await troubles()) === 2, LOOK_MS)
    const { status } = await ask(b, 'POST', '/v1/tenants', { id: 'acme', name: 'acme' })
    t.equal(status, 503)
    const signing = await signingOf(store, stateDir())
    await acceptAudit(store.ledger, signing, 'planted by the test', { actor: 'test' })
    await waitUntil('both go on', async () => (await troubles()) === 0, LOOK_MS)
    for (const [n, url] of [a, b].entries()) {
      const body = { id: `acme-${n}`, name: 'acme' }
      t.match(await ask(url, 'POST', '/v1/tenants', body), { status: 200 })
    }
  })
})
