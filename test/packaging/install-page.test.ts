import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { InstallNotes, type InstallStep, readInstallSteps } from '../support/install-steps.ts'
import { findInstallObstacle, hostsFile, InstalledHost } from '../support/installed-host.ts'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'
import { NetworkLab, namespacesMissing, programMissing } from '../support/network-lab.ts'
import { waitUntil } from '../support/wait-until.ts'

/*
 * docs/install.md to the letter: two empty machines on one network, the packages of this tree, and
 * each command of the page in its order.
 */

const root = resolve(import.meta.dirname, '..', '..')
const MODEL = readFileSync(join(root, 'models', 'weights', 'shoal-demo-small.gguf'))

const COORDINATOR = '10.9.0.1'
const CELL = '10.9.0.2'

/** Rest between two attempts of a command, each of which starts a program. */
const REST_MS = 500

const steps = readInstallSteps()

const skip =
  namespacesMissing || programMissing('nft') || programMissing('dpkg-deb') || findInstallObstacle()

t.test('from packages to the first remote cell', { skip }, async t => {
  const packages = mkdtempSync(join(MEMORY_FOLDER, 'shoal-packages-'))
  t.teardown(() => rmSync(packages, { recursive: true, force: true }))
  const names = ['shoald', 'shoal-coordinator', 'shoal-cli'].flatMap(name => ['--only', name])
  const build = ['packaging/build-deb.mjs', '--out', packages, '--level', '0', ...names]
  execFileSync(process.execPath, build, {
    cwd: root,
    env: { ...process.env, TMPDIR: MEMORY_FOLDER },
    stdio: 'pipe',
  })

  await using lab = new NetworkLab()
  lab.addHost('coordinator', `${COORDINATOR}/24`)
  lab.addHost('cell', `${CELL}/24`)
  const hosts = { packages, names: hostsFile({ 'shoal.example': COORDINATOR }) }
  await using coordinator = await InstalledHost.create(lab, 'coordinator', hosts)
  await using cell = await InstalledHost.create(lab, 'cell', hosts)
  const machines = { coordinator, cell }
  const notes = new InstallNotes()

  const follow = async ({ host, command }: InstallStep): Promise<string> => {
    const answer = await machines[host].run(notes.fill(command), notes.inputOf(command))
    notes.read(answer)
    return answer
  }

  const followUntilAnswered = (step: InstallStep): Promise<string> =>
    waitUntil('the model answers', () => follow(step).catch(() => undefined), REST_MS)

  // the operator's own file, which lies on the second machine alone
  await cell.run('mkdir -p /srv/models && cat > /srv/models/my-model.gguf', MODEL)
  for (const step of steps) {
    const [title = ''] = step.command.split('\n')
    await t.test(`${step.host}: ${title}`, async t => {
      const isChat = title.startsWith('shoal chat')
      // a model is loaded by the cell in the meantime, and a chat does not wait for its first one
      const answer = isChat ? await followUntilAnswered(step) : await follow(step)
      if (title.startsWith('shoal-coordinator init')) t.match(answer, /secret +svc-dev-/)
      else if (title.startsWith('shoald join')) {
        t.match(answer, 'Settings: /etc/shoal/shoald.yaml (changed: name, coordinator.url)')
        t.match(answer, 'Next: systemctl restart shoald')
      } else if (title === 'shoal cells list') {
        const isReady = async () => /cell-1.*ready|ready.*cell-1/.test(await follow(step))
        await waitUntil('the cell is ready', isReady, REST_MS)
      } else if (isChat) t.match(answer, /\w+ \w+/)
      else t.notMatch(answer, /\berror\b/i)
    })
  }

  await t.test('settings in /etc/shoal win over what units and commands provide', async t => {
    const stateDir = 'shoal-coordinator --print-config | grep ^state_dir'
    t.match(await coordinator.run(stateDir), 'state_dir: /var/lib/shoal\n')
    await coordinator.run('echo state_dir: /srv/elsewhere >> /etc/shoal/coordinator.yaml')
    t.match(await coordinator.run(stateDir), 'state_dir: /srv/elsewhere\n')
    await coordinator.run('sed -i /state_dir/d /etc/shoal/coordinator.yaml')
    await cell.run('printf "coordinator:\\n  join_token_file: /own\\n" > /tmp/own.yaml')
    const token = 'shoald --config /tmp/own.yaml --print-config | grep join_token_file:'
    t.match(await cell.run(`CREDENTIALS_DIRECTORY=/x ${token}`), 'join_token_file: /own\n')
  })

  await t.test('without the drop-in the start warns, and names the file that helps', async t => {
    const ask = 'curl -sk --max-time 2 https://shoal.example:7070/healthz'
    await cell.run(ask)
    await coordinator.run('rm -r /etc/systemd/system/shoal-coordinator.service.d')
    const before = coordinator.log().length
    await coordinator.run('systemctl restart shoal-coordinator')
    const said = coordinator.log().slice(before)
    t.match(said, 'no other machine can connect')
    t.match(said, '/opt/shoal-coordinator/systemd/remote-cells.conf')
    t.match(said, COORDINATOR)
    await t.rejects(cell.run(ask))
  })
})
