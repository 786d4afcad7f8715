import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BedHost } from './hosts.ts'

type Program = NonNullable<BedHost['program']>

/** Debian has daemons where only root looks. */
const PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`

/** Accounts that programs give up their rights for. */
const USERS: Readonly<Record<Program, string>> = { mosquitto: 'root', nginx: 'root', sshd: 'sshd' }

const isInstalled = (program: Program): boolean =>
  spawnSync('sh', ['-c', `command -v ${program} && id ${USERS[program]}`], { env: { PATH } })
    .status === 0

/** Command line of a real program that stays in the foreground; undefined where it is absent. */
export const prepareProgram = (program: Program, folder: string): string[] | undefined =>
  isInstalled(program) ? PREPARE[program](folder) : undefined

const write = (folder: string, name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const PREPARE: Readonly<Record<Program, (folder: string) => string[]>> = {
  mosquitto: folder => [
    'mosquitto',
    '-c',
    write(
      folder,
      'mosquitto.conf',
      'user root\nlistener 1883 0.0.0.0\nallow_anonymous true\nlog_type error\n',
    ),
  ],
  nginx: folder => {
    const text = `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi; uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  server { listen 80; location / { default_type text/html; return 200 '<title>Welcome to nginx!</title>'; } }
}
`
    return ['nginx', '-e', 'stderr', '-c', write(folder, 'nginx.conf', text)]
  },
  sshd: folder => {
    const key = join(folder, 'host-key')
    spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
    mkdirSync('/run/sshd', { recursive: true })
    const { stdout } = spawnSync('sh', ['-c', 'command -v sshd'], {
      env: { PATH },
      encoding: 'utf8',
    })
    // sshd starts itself again and wants its whole path for that
    return [
      stdout.trim(),
      '-D',
      '-e',
      '-f',
      '/dev/null',
      '-p',
      '22',
      '-h',
      key,
      '-o',
      'PidFile=none',
    ]
  },
}
