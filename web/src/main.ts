// Where the Console starts.
import './main.css';

const app = document.getElementById('app');
if (app) app.textContent = 'Console';
