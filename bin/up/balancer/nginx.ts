import { join } from 'node:path'
import type { BalancerPlan } from './balancer.ts'

/** Configuration of nginx for a trial; see docs/scale.md for one of production. */
export const nginxConfig = ({ folder, port, replicaPorts, isRoot }: BalancerPlan): string => `
daemon off;
${isRoot ? 'user root;\n' : ''}pid ${join(folder, 'nginx.pid')};
error_log stderr notice;
worker_processes 1;
events { worker_connections 4096; }
http {
  access_log off;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  .map(kind => `  ${kind}_temp_path ${join(folder, 'nginx-temp')};`)
  .join('\n')}
  client_max_body_size 0;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  upstream coordinators {
${replicaPorts.map(each => `    server 127.0.0.1:${each} max_fails=1 fail_timeout=1s;`).join('\n')}
    keepalive 64;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://coordinators;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_request_buffering off;
      proxy_buffering off;
      proxy_connect_timeout 2s;
      proxy_read_timeout 1h;
      proxy_send_timeout 1h;
    }
  }
}
`
