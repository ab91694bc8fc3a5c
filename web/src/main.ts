// Where the Console starts.
import './main.css';
import {start} from './app';

start(document.getElementById('app')!);
