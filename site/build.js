import { collect } from './pages.js'

collect(process.env.SECKILL_ROOT, 'pages')
