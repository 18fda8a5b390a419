<?php
// 002, its programs for MySQL, unchanged except for connection and class. ?how=lock, version or where selects one.
// break.php of examples/migrate runs them, with its own table of goods.
class Shop
{
    private $mysqli;

    public function __construct()
    {
        $this->mysqli = new mysqli('127.0.0.1', 'root', '', 'shop');
    }

    public function lock()
    {
        $this->mysqli->begin_transaction();
        $result = $this->mysqli->query("SELECT num FROM goods WHERE id=1 LIMIT 1 FOR UPDATE");
        $row = $result->fetch_assoc();
        $num = intval($row['num']);
        if($num > 0){
            usleep(100);
            $this->mysqli->query("UPDATE goods SET num=num-1");
            $affected_rows = $this->mysqli->affected_rows;
            if($affected_rows == 1){
                $this->mysqli->query("INSERT INTO log(good_id) VALUES({$num})");
                $affected_rows = $this->mysqli->affected_rows;
                if($affected_rows == 1){
                    $this->mysqli->commit();
                    echo "success:".$num;
                }else{
                    $this->mysqli->rollback();
                    echo "fail1:".$num;
                }
            }else{
                $this->mysqli->rollback();
                echo "fail2:".$num;
            }
        }else{
            $this->mysqli->commit();
            echo "fail3:".$num;
        }
    }

    public function version()
    {
        $result = $this->mysqli->query("SELECT num,version FROM goods WHERE id=1 LIMIT 1");
        $row = $result->fetch_assoc();
        $num = intval($row['num']);
        $version = intval($row['version']);
        if($num > 0){
            usleep(100);
            $this->mysqli->begin_transaction();
            $this->mysqli->query("UPDATE goods SET num=num-1,version=version+1 WHERE version={$version}");
            $affected_rows = $this->mysqli->affected_rows;
            if($affected_rows == 1){
                $this->mysqli->query("INSERT INTO log(good_id) VALUES({$num})");
                $affected_rows = $this->mysqli->affected_rows;
                if($affected_rows == 1){
                    $this->mysqli->commit();
                    echo "success:".$num;
                }else{
                    $this->mysqli->rollback();
                    echo "fail1:".$num;
                }
            }else{
                $this->mysqli->rollback();
                echo "fail2:".$num;
            }
        }else{
            echo "fail3:".$num;
        }
    }

    public function where()
    {
        $result = $this->mysqli->query("SELECT num FROM goods WHERE id=1 LIMIT 1");
        $row = $result->fetch_assoc();
        $num = intval($row['num']);
        if($num > 0){
            usleep(100);
            $this->mysqli->begin_transaction();
            $this->mysqli->query("UPDATE goods SET num=num-1 WHERE num>0");
            $affected_rows = $this->mysqli->affected_rows;
            if($affected_rows == 1){
                $this->mysqli->query("INSERT INTO log(good_id) VALUES({$num})");
                $affected_rows = $this->mysqli->affected_rows;
                if($affected_rows == 1){
                    $this->mysqli->commit();
                    echo "success:".$num;
                }else{
                    $this->mysqli->rollback();
                    echo "fail1:".$num;
                }
            }else{
                $this->mysqli->rollback();
                echo "fail2:".$num;
            }
        }else{
            echo "fail3:".$num;
        }
    }
}

$how = $_GET['how'] ?? 'version';
(new Shop())->$how();
